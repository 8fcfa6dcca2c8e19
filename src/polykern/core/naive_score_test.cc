#include "polykern/core/naive_score.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace polykern {
namespace {

/// The same, label by label from the definition.
double SlowBest(const std::vector<double>& y, std::size_t ahead) {
  double mean_error = 0;
  double last_error = 0;
  for (std::size_t t = 0; t < y.size(); ++t) {
    const std::size_t known = t + 1 < ahead ? 0 : t + 1 - ahead;
    double mean = known == 0 ? 0.5 : 0;
    for (std::size_t i = 0; i < known; ++i) mean += y[i] / static_cast<double>(known);
    const double last = known == 0 ? 0.5 : y[known - 1];
    mean_error += (y[t] - mean) * (y[t] - mean);
    last_error += (y[t] - last) * (y[t] - last);
  }
  return std::min(mean_error, last_error) / static_cast<double>(y.size());
}

TEST(ANaiveScore, GuessesByTheMeanAndByTheLastLabelThatIsKnown) {
  const std::vector<double> jumps = {0.1, 0.9, 0.2, 0.8, 0.1, 0.7, 0.3};   // the mean is better
  const std::vector<double> climbs = {0.1, 0.2, 0.3, 0.5, 0.6, 0.8, 0.9};  // the last label is
  for (const auto& y : {jumps, climbs}) {
    for (const std::size_t ahead : {1U, 3U}) {
      NaiveScore score;
      for (const double one : y) score.Take(one, ahead);
      EXPECT_NEAR(score.best(), SlowBest(y, ahead), 1e-12) << ahead;
    }
  }
}

}  // namespace
}  // namespace polykern
