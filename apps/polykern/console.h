#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "polykern/core/metrics.h"
#include "polykern/sim/experiment.h"

namespace polykern {

/// How far some work is, and what it is at.
struct WorkState {
  double part = 0;  ///< in [0, 1]
  std::string what = {};
};

/// Shows how far an experiment or other work is, on standard error if that is a terminal, until
/// destroyed. Leaves nothing behind on the screen.
class ProgressBar {
 public:
  /// As `lines`, one every ten seconds, wherever standard error goes: mpirun hides the terminal.
  ProgressBar(const Progress& progress, const std::string& what, bool lines = false);
  /// Calls `look` about ten times a second, from a thread of its own.
  explicit ProgressBar(std::function<WorkState()> look, bool lines = false);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

 private:
  std::jthread ticker_;
};

/// Shows how far a download is, in the same manner; Show may be called as often as one likes.
class DownloadLine {
 public:
  explicit DownloadLine(std::string what);
  ~DownloadLine();
  DownloadLine(const DownloadLine&) = delete;
  DownloadLine& operator=(const DownloadLine&) = delete;

  /// Bytes there, and bytes in all (0: not known).
  void Show(std::uint64_t done, std::uint64_t total);

 private:
  std::string what_;
  bool terminal_;
  std::chrono::steady_clock::time_point shown_{};
};

/// Columns aligned to the right, the first to the left; a header line and a rule.
std::string FormatTable(const std::vector<std::string>& header,
                        const std::vector<std::vector<std::string>>& rows);

/// A number with so many digits after the point.
std::string Fixed(double value, int digits);

/// "1.23 +- 0.45", both times `unit`.
std::string PlusMinus(const Spread& spread, double unit = 1);

/// A count; "-" for none.
std::string OrDash(std::size_t count);

/// "1 client", "2 clients".
std::string Count(std::size_t count, const std::string& thing);

/// Bytes as B, kB or MB.
std::string Bytes(double bytes);

}  // namespace polykern
