#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

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

}  // namespace polykern
