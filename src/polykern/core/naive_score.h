#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace polykern {

/// How well one client's labels, scaled to [0, 1], are guessed without a model: by the mean of its
/// own labels so far, and by its own last one. The middle, before there is any. A plain value.
struct NaiveScore {
  static constexpr double kMiddle = 0.5;

  std::uint64_t taken = 0;
  double all_sum = 0;
  std::uint64_t labels = 0;  ///< that are known when the next is predicted
  double last = kMiddle;
  double sum = 0;     ///< of them
  double square = 0;  ///< of distances from the middle, which costs fewer digits than from 0
  double mean_error = 0;
  double last_error = 0;
  std::deque<double> unknown = {};  ///< labels that came after the next prediction was due

  /// The label `ahead` steps after the last one that is known.
  void Take(double y, std::size_t ahead) {
    const double mean = labels == 0 ? kMiddle : sum / static_cast<double>(labels);
    mean_error += (y - mean) * (y - mean);
    last_error += (y - last) * (y - last);
    square += (y - kMiddle) * (y - kMiddle);
    all_sum += y;
    ++taken;
    unknown.push_back(y);
    if (unknown.size() < ahead) return;
    last = unknown.front();
    sum += last;
    ++labels;
    unknown.pop_front();
  }

  /// Mean squared error of the better guess; needs a label.
  double best() const { return std::min(mean_error, last_error) / static_cast<double>(taken); }
};

}  // namespace polykern
