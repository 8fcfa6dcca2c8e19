#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "polykern/net/server/rounds_options.h"

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

/// Writes down what happens in a federation, and measures its steps. Files are appended to, so they
/// may be cut off or moved (copied and truncated) at any time, and only their owner can read them.
///
/// A thread of its own writes: a slow disk or a pipe that nobody reads holds nobody up. Events that
/// come faster than they can be written, or find no room, are counted and left out; the store has
/// them. Any thread may call anything. The constructor throws Error if a file cannot be opened.
class ServerLog final : public RoundsObserver {
 public:
  explicit ServerLog(const ServerLogOptions& options);
  /// Writes what waits.
  ~ServerLog() override;
  ServerLog(const ServerLog&) = delete;
  ServerLog& operator=(const ServerLog&) = delete;

  /// `client` is empty for what the server itself does.
  void Event(const std::string& client, const std::string& event,
             const std::string& detail) override;
  void StepEnded(std::uint64_t step, std::size_t participants, RoundsTime first) override;

  StepTimes step_times() const;
  /// Events that were left out.
  std::uint64_t lost() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace polykern
