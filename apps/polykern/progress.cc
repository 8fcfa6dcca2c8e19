#include "progress.h"

#include <algorithm>
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <utility>

#include <unistd.h>

#include "polykern/results/text_table.h"

namespace polykern {

ProgressBar::ProgressBar(const Progress& progress, const std::string& what, bool lines)
    : ProgressBar(
          [&progress, what] {
            const auto total = static_cast<double>(std::max<std::size_t>(progress.steps_total, 1));
            return WorkState{static_cast<double>(progress.steps_done) / total, what};
          },
          lines) {}

ProgressBar::ProgressBar(std::function<WorkState()> look, bool lines) {
  if (isatty(STDERR_FILENO) == 0 && !lines) return;
  ticker_ = std::jthread([look = std::move(look), lines](const std::stop_token& stop) {
    constexpr int kWidth = 30;
    const auto pause = std::chrono::milliseconds(lines ? 10'000 : 100);
    const char* start_line = lines ? "" : "\r\033[K";
    const auto start = std::chrono::steady_clock::now();
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, stop, pause, [] { return false; }) && !stop.stop_requested()) {
      const auto [part, what] = look();
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      const int filled = static_cast<int>(part * kWidth);
      std::cerr << start_line << what << " [" << std::string(static_cast<std::size_t>(filled), '#')
                << std::string(static_cast<std::size_t>(kWidth - filled), '.') << "] "
                << Fixed(100 * part, 0) << " %";
      if (part > 0.02)
        std::cerr << ", " << Fixed(elapsed.count() * (1 - part) / part, 0) << " s left";
      std::cerr << (lines ? "\n" : "") << std::flush;
    }
    std::cerr << start_line << std::flush;
  });
}

ProgressBar::~ProgressBar() = default;

DownloadLine::DownloadLine(std::string what)
    : what_(std::move(what)), terminal_(isatty(STDERR_FILENO) != 0) {}

DownloadLine::~DownloadLine() {
  if (terminal_) std::cerr << "\r\033[K" << std::flush;
}

void DownloadLine::Show(std::uint64_t done, std::uint64_t total) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || now - shown_ < std::chrono::milliseconds(100)) return;
  shown_ = now;
  const auto bytes = static_cast<double>(done);
  std::cerr << "\r\033[K" << what_ << ' ' << Bytes(bytes);
  if (total > 0) {
    const auto all = static_cast<double>(total);
    std::cerr << " of " << Bytes(all) << ", " << Fixed(100 * bytes / all, 0) << " %";
  }
  std::cerr << std::flush;
}

}  // namespace polykern
