#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "polykern/net/rounds/rounds_options.h"

namespace polykern {

struct ServerLogOptions {
  std::string text = {};   ///< file for people to read; -: standard error; empty: none
  std::string audit = {};  ///< file of JSON lines for programs; empty: none
};

/// How long steps took, from a step's first update until it was on the disk.
struct StepTimes {
  static constexpr std::array<double, 14> kBounds = {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05,
                                                     0.1,    0.2,   0.5,   1,     2,    5,    10};
  std::array<std::uint64_t, kBounds.size() + 1> counts{};  ///< above one bound, up to the next
  double seconds = 0;                                      ///< of all steps
  std::uint64_t steps = 0;
};

/// A file at whose end lines are written, or none. Any thread may call anything.
class LineAppender {
 public:
  /// `path`: -: standard error; empty: none. Throws Error if it cannot be opened.
  explicit LineAppender(const std::string& path);
  ~LineAppender();
  LineAppender(const LineAppender&) = delete;
  LineAppender& operator=(const LineAppender&) = delete;

  bool wanted() const { return descriptor_ >= 0; }
  /// False if not all of it could be written.
  bool Write(const std::string& lines) const;

 private:
  int descriptor_ = -1;
};

/// Writes down what happens in a federation, and measures its steps. Files are appended to, so they
/// may be cut off or moved (copied and truncated) at any time, and only their owner can read them.
///
/// A thread of its own writes: a slow disk or a pipe that is not read delays no caller. Events that
/// come faster than they can be written, or find no room, are counted and left out; the store has
/// them. Any thread may call anything. The constructor throws Error if a file cannot be opened.
class ServerLog final : public RoundsObserver {
 public:
  /// Destroyed, it writes what waits.
  explicit ServerLog(const ServerLogOptions& options);

  /// `client` is empty for what the server itself does.
  void Event(const std::string& client, const std::string& event,
             const std::string& detail) override;
  void StepEnded(std::uint64_t step, std::size_t participants, RoundsTime first) override;

  StepTimes step_times() const;
  /// Events that were left out.
  std::uint64_t lost() const;

 private:
  struct LoggedEvent {
    std::time_t time;
    std::string client, event, detail;
  };

  void Run(const std::stop_token& stop);
  void AddServerLine(const char* event, const std::string& detail);
  bool Write(const std::vector<LoggedEvent>& events) const;

  const LineAppender text_;
  const LineAppender audit_;
  mutable std::mutex mutex_;  // for all that follows
  std::condition_variable_any pause_;
  std::vector<LoggedEvent> waiting_;
  std::uint64_t left_out_ = 0;  // since the last line was written
  std::uint64_t lost_ = 0;      // told of, or not written
  StepTimes times_;
  std::uint64_t step_ = 0;
  std::size_t participants_ = 0;
  std::jthread writer_;  // last: ends first
};

}  // namespace polykern
