#include "polykern/net/server/server_log.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "polykern/core/error.h"
#include "polykern/core/text.h"

namespace polykern {
namespace {

constexpr std::size_t kMostWaiting = 1000;        // events
constexpr std::chrono::milliseconds kPause{200};  // so at most 5000 lines a second
constexpr std::chrono::seconds kSummary{60};

std::string TimeOf(std::time_t time, const char* form) {
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), form, &parts)};
}

}  // namespace

LineAppender::LineAppender(const std::string& path) {
  if (path.empty()) return;
  if (path == "-") {
    descriptor_ = STDERR_FILENO;
    return;
  }
  descriptor_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (descriptor_ < 0) {
    throw Error(path + ": cannot be written (" + std::generic_category().message(errno) +
                "); check the path and its permissions");
  }
}

LineAppender::~LineAppender() {
  if (descriptor_ > STDERR_FILENO) close(descriptor_);
}

bool LineAppender::Write(const std::string& lines) const {
  std::size_t done = 0;
  while (done < lines.size()) {
    const ssize_t written = write(descriptor_, lines.data() + done, lines.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

ServerLog::ServerLog(const ServerLogOptions& options) : text_(options.text), audit_(options.audit) {
  if (!text_.wanted() && !audit_.wanted()) return;
  writer_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void ServerLog::Event(const std::string& client, const std::string& event,
                      const std::string& detail) {
  if (!text_.wanted() && !audit_.wanted()) return;
  const std::lock_guard lock(mutex_);
  if (waiting_.size() < kMostWaiting) {
    waiting_.push_back({std::time(nullptr), client, event, detail});
  } else {
    ++left_out_;
  }
}

void ServerLog::StepEnded(std::uint64_t step, std::size_t participants, RoundsTime first) {
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - first;
  const auto bucket = std::ranges::lower_bound(StepTimes::kBounds, took.count());
  const std::lock_guard lock(mutex_);
  ++times_.counts[static_cast<std::size_t>(bucket - StepTimes::kBounds.begin())];
  times_.seconds += took.count();
  ++times_.steps;
  step_ = step;
  participants_ = participants;
}

StepTimes ServerLog::step_times() const {
  const std::lock_guard lock(mutex_);
  return times_;
}

std::uint64_t ServerLog::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_ + left_out_;
}

void ServerLog::Run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  auto summary = std::chrono::steady_clock::now() + kSummary;
  std::uint64_t steps_before = 0;
  while (!stop.stop_requested() || !waiting_.empty()) {
    pause_.wait_for(lock, stop, kPause, [] { return false; });
    const auto now = std::chrono::steady_clock::now();
    if (now >= summary) {
      summary = now + kSummary;
      if (times_.steps != steps_before) {
        AddServerLine("steps", std::to_string(times_.steps - steps_before) +
                                   " in the last minute, now at step " + std::to_string(step_) +
                                   ", the last with " + std::to_string(participants_) + " clients");
      }
      steps_before = times_.steps;
    }
    if (left_out_ > 0) {
      lost_ += left_out_;
      AddServerLine("left out",
                    std::to_string(std::exchange(left_out_, 0)) + " events; the store has them");
    }
    const auto events = std::exchange(waiting_, {});
    if (events.empty()) continue;
    lock.unlock();
    const bool written = Write(events);
    lock.lock();
    if (!written) lost_ += events.size();
  }
}

void ServerLog::AddServerLine(const char* event, const std::string& detail) {
  waiting_.push_back({std::time(nullptr), "", event, detail});
}

bool ServerLog::Write(const std::vector<LoggedEvent>& events) const {
  std::string text, audit;
  for (const auto& [time, client, event, detail] : events) {
    if (text_.wanted()) {
      text += TimeOf(time, "%F %T UTC ") + (client.empty() ? "server" : client) + " " + event +
              (detail.empty() ? "" : ": " + Printable(detail)) + "\n";
    }
    if (!audit_.wanted()) continue;
    nlohmann::ordered_json line{{"time", TimeOf(time, "%FT%TZ")}, {"event", event}};
    if (!client.empty()) line["client"] = client;
    if (!detail.empty()) line["detail"] = detail;
    audit += line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  }
  const bool good = text_.Write(text);
  return audit_.Write(audit) && good;
}

}  // namespace polykern
