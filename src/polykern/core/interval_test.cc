#include "polykern/core/interval.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

struct Tally {
  double covered = 0;
  double counted = 0;
  double width = 0;
  double late = 0;  // covered of the second half

  void Add(double error, const Interval& interval, bool second_half) {
    const bool covers = interval.Has(error);
    covered += covers ? 1 : 0;
    late += covers && second_half ? 1 : 0;
    width += interval.width();
    ++counted;
  }
  double coverage() const { return covered / counted; }
};

/// Of labels that were predicted to be 0 from such inputs, one each, or none at all.
Tally TallyOf(double coverage, const std::vector<double>& errors,
              const std::vector<float>& inputs = {}) {
  IntervalTracker tracker(coverage, inputs.empty() ? 0 : 1);
  Tally tally;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const auto x = inputs.empty() ? std::span<const float>() : std::span(inputs).subspan(i, 1);
    const auto interval = tracker.Around(0, x);
    if (interval) {
      tally.Add(errors[i], *interval, 2 * tally.counted >= static_cast<double>(errors.size()));
      EXPECT_TRUE(interval->Has(0)) << "the prediction";
    }
    tracker.Take(errors[i], 0, x, interval);
  }
  return tally;
}

/// The quantile of all errors so far, which the tracker stands for.
Tally SlowTally(double coverage, const std::vector<double>& errors) {
  std::vector<double> sorted;
  Tally tally;
  for (const double error : errors) {
    if (!sorted.empty()) {
      const auto place = static_cast<std::size_t>(coverage * static_cast<double>(sorted.size()));
      const double radius = sorted[std::min(place, sorted.size() - 1)];
      tally.Add(error, {-radius, radius}, 2 * tally.counted >= static_cast<double>(errors.size()));
    }
    sorted.insert(std::ranges::lower_bound(sorted, std::abs(error)), std::abs(error));
  }
  return tally;
}

std::vector<double> Errors(std::size_t count, const std::function<double(double)>& size) {
  Random random(5, Purpose::kTest);
  std::vector<double> errors;
  for (std::size_t i = 0; i < count; ++i) {
    errors.push_back(size(static_cast<double>(i) / static_cast<double>(count)) * random.Normal());
  }
  return errors;
}

TEST(Interval, KnowsNothingBeforeTheFirstErrorAndItsSizeAfter) {
  IntervalTracker tracker(0.9, 0);
  EXPECT_FALSE(tracker.Around(5, {}));
  tracker.Take(-2, 0, {}, {});
  const double radius = 2 * std::numbers::pi / 2 * std::sqrt(-std::log(0.19));
  EXPECT_NEAR(radius / 2, 2.06, 0.04);  // of normal errors
  EXPECT_NEAR(tracker.Around(5, {})->low, 5 - radius, 1e-12);
  EXPECT_NEAR(tracker.Around(5, {})->high, 5 + radius, 1e-12);
}

// m moves by at most 0.5 or so while errors keep their law, so coverage is off by 0.5 / (0.05 *
// 2000).
TEST(Interval, CoversWhatWasAskedForWhateverTheSizeOfErrorsDoes) {
  const std::vector<std::function<double(double)>> sizes = {
      [](double) { return 1.0; }, [](double) { return 1e-6; },
      [](double at) { return std::exp(-5 * at); },  // it learns
      [](double at) { return std::exp(5 * at); },   // the world changes
      [](double at) { return at < 0.5 ? 0.1 : 1.0; }};
  for (const double coverage : {0.5, 0.8, 0.9, 0.95}) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_NEAR(TallyOf(coverage, Errors(2000, sizes[i])).coverage(), coverage, 0.005)
          << coverage << " " << i;
    }
  }
}

TEST(Interval, IsNarrowerThanAQuantileOfAllErrorsWhenTheyShrinkAndCoversMoreWhenTheyGrow) {
  const auto falling = Errors(2000, [](double at) { return std::exp(-5 * at); });
  EXPECT_LT(TallyOf(0.9, falling).width, 0.7 * SlowTally(0.9, falling).width);
  const auto rising = Errors(2000, [](double at) { return std::exp(5 * at); });
  EXPECT_LT(SlowTally(0.9, rising).coverage(), 0.8);
  EXPECT_GT(TallyOf(0.9, rising).coverage(), 0.895);
}

// At the level that covers as much of the second half, which nobody knows beforehand.
TEST(Interval, IsNarrowerThanTheQuantileThatStillCoversAsMuchWhenErrorsHaveGrown) {
  const auto rising = Errors(2000, [](double at) { return std::exp(2 * at); });
  const Tally ours = TallyOf(0.9, rising);
  double level = 0.9;
  while (SlowTally(level, rising).late < ours.late) level += 0.001;
  EXPECT_GT(level, 0.95);
  EXPECT_LT(ours.width, 0.98 * SlowTally(level, rising).width);
}

// What is missing depends on the input, and the other way round in the second half.
TEST(Interval, IsNarrowerWhereErrorsCanBeExpected) {
  auto errors = Errors(1000, [](double) { return 0.3; });
  std::vector<float> inputs;
  Random random(6, Purpose::kTest);
  for (std::size_t i = 0; i < errors.size(); ++i) {
    inputs.push_back(static_cast<float>(2 * random.Uniform() - 1));
    errors[i] += (i < 500 ? 1 : -1) * static_cast<double>(inputs.back());
  }
  const Tally blind = TallyOf(0.9, errors);
  const Tally seeing = TallyOf(0.9, errors, inputs);
  EXPECT_NEAR(blind.coverage(), 0.9, 0.01);
  EXPECT_NEAR(seeing.coverage(), 0.9, 0.01);
  EXPECT_LT(seeing.width, 0.8 * blind.width);
}

TEST(Interval, KeepsUpWithErrorsThatFallLikeAPowerOfTime) {
  const auto falling = Errors(500, [](double at) { return std::pow(500 * at + 1, -0.8); });
  EXPECT_NEAR(TallyOf(0.9, falling).coverage(), 0.9, 0.01);
  EXPECT_LT(TallyOf(0.9, falling).width, 0.5 * SlowTally(0.9, falling).width);
}

TEST(Interval, IsNearTheQuantileOfErrorsThatKeepTheirLaw) {
  const auto errors = Errors(4000, [](double) { return 1.0; });
  const double fixed = SlowTally(0.9, errors).width;
  EXPECT_NEAR(TallyOf(0.9, errors).width / fixed, 1, 0.06);
}

TEST(Interval, RecoversFromErrorsThatWereZeroForLong) {
  IntervalTracker tracker(0.9, 0);
  const auto take = [&](double error) { tracker.Take(error, 0, {}, tracker.Around(0, {})); };
  for (int i = 0; i < 100000; ++i) take(0);
  EXPECT_EQ(tracker.Around(0, {})->width(), 0);
  Random random(1, Purpose::kTest);
  int missed = 0;
  for (int i = 0; i < 1000; ++i) {
    const double error = random.Normal();
    missed += tracker.Around(0, {})->Has(error) ? 0 : 1;
    take(error);
  }
  EXPECT_LT(missed, 250);  // 100, and some 90 to come back by a factor of e^7
}

TEST(Interval, RefusesACoverageThatNoIntervalHas) {
  for (const double coverage : {0.0, 1.0, -0.5, 90.0, std::nan("")}) {
    EXPECT_THROW(IntervalTracker(coverage, 1), Error) << coverage;
  }
}

TEST(IntervalTracker, ResumesWithTheSameBitsFromWhatWasSaved) {
  const std::vector<double> errors = Errors(50, [](double) { return 1; });
  const std::vector<float> x = {0.5F};
  const auto take = [&](IntervalTracker& tracker, std::size_t i) {
    tracker.Take(errors[i], 0.25, x, tracker.Around(0.25, x));
  };
  IntervalTracker whole(0.9, 1);
  IntervalTracker first(0.9, 1);
  for (std::size_t i = 0; i < 20; ++i) {
    take(whole, i);
    take(first, i);
  }
  IntervalTracker second = IntervalTracker::Load(first.Save(), 1);
  EXPECT_EQ(first.Save().size(), first.StateSize());
  for (std::size_t i = 20; i < 50; ++i) {
    EXPECT_EQ(second.Around(0.25, x), whole.Around(0.25, x));
    take(whole, i);
    take(second, i);
  }
  EXPECT_EQ(second.coverage(), 0.9);
  EXPECT_THROW(IntervalTracker::Load(first.Save(), 2), Error);
  for (const std::vector<double>& bad : {std::vector<double>{0.9, 1, 1},
                                         {0.9, 1, std::nan(""), 1},
                                         {0, 1, 1, 1},
                                         {0.9, 1, 1, 1, 1}}) {
    EXPECT_THROW(IntervalTracker::Load(bad, 1), Error);
  }
}

TEST(IntervalTracker, ResumesFromTheFourNumbersOfThoseThatExpectedNothing) {
  const std::vector<double> saved = {0.9, 0.25, 0.5, 40};
  IntervalTracker tracker = IntervalTracker::Load(saved, 1);
  const std::vector<float> x = {0.5F};
  const double radius = 0.25 * std::exp(0.5);
  EXPECT_EQ(tracker.Around(1, x), (Interval{1 - radius, 1 + radius}));
  for (int i = 0; i < 100; ++i) tracker.Take(1.5, 1, x, tracker.Around(1, x));
  EXPECT_GT(tracker.Around(1, x)->high, 1.5);
  EXPECT_LT(tracker.Around(1, x)->width(), 0.6);  // it has learnt that 1/2 is missing
}

// Labels come five predictions late; the radius of now says little of what was told then.
TEST(IntervalTracker, CoversAsAskedWhereLabelsComeLate) {
  const std::vector<double> errors =
      Errors(4000, [](double part) { return part < 0.5 ? 1.0 : 5.0; });
  IntervalTracker tracker(0.9, 0);
  std::vector<std::optional<Interval>> told;
  double covered = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    told.push_back(tracker.Around(0, {}));
    if (i < 5) continue;
    tracker.Take(errors[i - 5], 0, {}, told[i - 5]);
    covered += told[i - 5] && told[i - 5]->Has(errors[i - 5]) ? 1 : 0;
  }
  EXPECT_NEAR(covered / 3990, 0.9, 0.01);
}

}  // namespace
}  // namespace polykern
