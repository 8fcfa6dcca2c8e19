#include "polykern/net/front/front_listener.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/net/front/front_tables_internal.h"

namespace polykern {
namespace {

constexpr std::chrono::milliseconds kHearAgain{200};

}  // namespace

FrontListener::FrontListener(std::string place, std::uint64_t front)
    : place_(std::move(place)), front_(std::to_string(front)) {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void FrontListener::OnNews(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

void FrontListener::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    try {
      Connection connection = ConnectFront(place_);
      connection.Run(("LISTEN " + ChannelOf(connection, Ears::kFronts)).c_str());
      Tell();  // of what was said before
      Listen(connection, stop);
    } catch (const Error&) {  // the next exchange reports it
      Tell();
      std::unique_lock lock(mutex_);
      ended_.wait_for(lock, stop, kHearAgain, [] { return false; });
    }
  }
}

void FrontListener::Listen(Connection& connection, const std::stop_token& stop) {
  auto pulse = std::chrono::steady_clock::now();
  while (!stop.stop_requested()) {
    const auto said = connection.Notifications(kHearAgain);
    if (std::ranges::any_of(said,
                            [this](const std::string& to) { return to.empty() || to == front_; })) {
      Tell();
    }
    if (std::chrono::steady_clock::now() < pulse + kFrontPulse) continue;
    pulse = std::chrono::steady_clock::now();
    connection.Run("SELECT 1");
  }
}

void FrontListener::Tell() {
  news_ = true;
  const std::lock_guard lock(mutex_);
  if (wake_) wake_();
}

}  // namespace polykern
