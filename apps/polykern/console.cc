#include "console.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iomanip>
#include <iostream>
#include <mutex>
#include <sstream>

#include <unistd.h>

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

std::string FormatTable(const std::vector<std::string>& header,
                        const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(header.size());
  for (std::size_t c = 0; c < header.size(); ++c) {
    widths[c] = header[c].size();
    for (const auto& row : rows) widths[c] = std::max(widths[c], row[c].size());
  }
  std::ostringstream text;
  const auto line = [&](const std::vector<std::string>& cells) {
    for (std::size_t c = 0; c < cells.size(); ++c) {
      text << (c == 0 ? std::left : std::right) << (c == 0 ? "" : "  ")
           << std::setw(static_cast<int>(widths[c])) << cells[c];
    }
    text << '\n';
  };
  line(header);
  std::size_t whole = 2 * (header.size() - 1);
  for (const std::size_t width : widths) whole += width;
  text << std::string(whole, '-') << '\n';
  for (const auto& row : rows) line(row);
  return text.str();
}

std::string Fixed(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

std::string PlusMinus(const Spread& spread, double unit) {
  return Fixed(unit * spread.mean, 2) + " +- " + Fixed(unit * spread.deviation, 2);
}

std::string OrDash(std::size_t count) {
  return count > 0 ? std::to_string(count) : "-";
}

std::string Count(std::size_t count, const std::string& thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

std::string Bytes(double bytes) {
  if (bytes < 1000) return Fixed(bytes, 0) + " B";
  if (bytes < 1e6) return Fixed(bytes / 1e3, 1) + " kB";
  return Fixed(bytes / 1e6, 1) + " MB";
}

}  // namespace polykern
