#include "polykern/net/load/load.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "polykern/core/error.h"
#include "polykern/net/address.h"
#include "polykern/net/load/load_client_internal.h"

namespace polykern {

Load::Load(const LoadOptions& options)
    : options_(options), shared_(std::make_unique<LoadShared>()), loop_(std::make_unique<Loop>()) {
  const std::size_t count = options_.identities.size();
  try {
    const std::vector<std::string> servers = ServersIn(options_.server);
    // Each device reads its own key; here that would take longer than all handshakes.
    for (const ClientIdentity& identity : options_.identities) {
      clients_.push_back(std::make_unique<LoadClient>(
          *loop_, servers[clients_.size() % servers.size()], identity, options_.seed, *shared_));
    }
    const auto began = std::chrono::steady_clock::now();
    for (std::size_t k = 0; k < count; ++k) {
      WaitFor([&] { return k < shared_->welcomed + options_.connecting; });
      clients_[k]->Begin();
    }
    WaitFor([&] { return shared_->welcomed == count; });
    connecting_ = std::chrono::steady_clock::now() - began;
  } catch (...) {
    End();
    throw;
  }
}

Load::~Load() {
  End();
}

/// The clients may be destroyed then.
void Load::End() {
  for (const auto& client : clients_) client->Cancel();
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [this] { return shared_->ended == clients_.size(); });
}

void Load::WaitForSteps(std::uint64_t steps) {
  const std::uint64_t wanted = Newest() + steps;
  for (const auto& client : clients_) {
    WaitFor([&] { return client->step() >= wanted; });
  }
}

LoadFigures Load::Measure(std::chrono::milliseconds time) {
  return MeasureWhile([this, time] {
    std::unique_lock lock(shared_->mutex);
    shared_->changed.wait_for(lock, time, [this] { return !shared_->failure.empty(); });
    shared_->CheckLocked();
  });
}

LoadFigures Load::MeasureSteps(std::uint64_t steps) {
  return MeasureWhile([this, steps] { WaitForSteps(steps); });
}

LoadFigures Load::MeasureWhile(const std::function<void()>& wait) {
  using Clock = std::chrono::steady_clock;
  for (const auto& client : clients_) client->Measure(true);
  const auto began = Clock::now();
  const std::uint64_t before = Newest();
  wait();
  LoadFigures all;
  all.steps = Newest() - before;
  all.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  for (const auto& client : clients_) client->Measure(false);
  for (const auto& client : clients_) {
    const LoadFigures one = client->figures();
    all.updates += one.updates;
    all.sent_bytes += one.sent_bytes;
    all.received_bytes += one.received_bytes;
    all.rejected += one.rejected;
    all.latencies.insert(all.latencies.end(), one.latencies.begin(), one.latencies.end());
  }
  std::ranges::sort(all.latencies);
  return all;
}

std::uint64_t Load::Newest() const {
  std::uint64_t newest = 0;
  for (const auto& client : clients_) newest = std::max(newest, client->step());
  return newest;
}

/// Looks again whenever a model or a welcome came; throws if none does for too long.
void Load::WaitFor(const std::function<bool()>& holds) {
  std::unique_lock lock(shared_->mutex);
  shared_->waiting = true;
  for (;;) {
    shared_->CheckLocked();
    if (holds()) break;
    const std::uint64_t models = shared_->models;
    const std::size_t welcomed = shared_->welcomed;
    const bool moved = shared_->changed.wait_for(lock, options_.patience, [&] {
      return shared_->models != models || shared_->welcomed != welcomed || shared_->ended > 0 ||
             !shared_->failure.empty();
    });
    if (!moved) {
      throw Error("the server sent nothing for " +
                  std::to_string(options_.patience.count() / 1000) + " s; " +
                  std::to_string(shared_->welcomed) + " of " +
                  std::to_string(options_.identities.size()) + " clients are welcomed");
    }
  }
  shared_->waiting = false;
}

}  // namespace polykern
