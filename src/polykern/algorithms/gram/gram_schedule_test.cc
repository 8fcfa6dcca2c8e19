#include "polykern/algorithms/gram/gram_schedule.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/random.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A federation whose clients trust the experts as `trust` says, and of whom a share is there.
class Played {
 public:
  Played(const GramGrid& grid, const GramRules& rules, std::vector<double> trust)
      : grid_(grid), schedule(grid, rules), trust_(std::move(trust)) {}

  /// One step in which so many samples come: what was asked for is sent, and the next is asked for.
  void Step(std::uint64_t samples, std::uint64_t unknowns_each) {
    learnt_ += static_cast<double>(samples);
    for (const std::uint32_t expert : turn) {
      numbers += static_cast<double>(grid_.NumbersOf(expert));
      schedule.Released(expert, learnt_ - schedule.Samples(expert), trust_);
    }
    unknowns += static_cast<double>(samples * unknowns_each);
    schedule.Learnt({samples, samples * unknowns_each});
    turn = schedule.NextTurn();
  }

 private:
  const GramGrid& grid_;

 public:
  GramSchedule schedule;
  std::vector<std::uint32_t> turn;
  double numbers = 0;  ///< sent so far
  double unknowns = 0;

 private:
  std::vector<double> trust_;
  double learnt_ = 0;
};

std::vector<double> Even(const GramGrid& grid) {
  return std::vector<double>(grid.experts(), 1 / static_cast<double>(grid.experts()));
}

TEST(GramSchedule, StaysWithinBothBuckets) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed, Purpose::kTest);
    const GramGrid grid(1 + random.Below(5), GramGrid::kSizes[1 + random.Below(4)]);
    GramRules rules;
    rules.budget = 300 + static_cast<double>(random.Below(2000));
    rules.burst = 1 + static_cast<double>(random.Below(30));
    rules.disclosure = 0.1 + random.Uniform();
    std::vector<double> trust;
    for (std::size_t e = 0; e < grid.experts(); ++e) trust.push_back(random.Uniform());
    const double all = std::accumulate(trust.begin(), trust.end(), 0.0);
    for (double& each : trust) each /= all;
    Played played(grid, rules, trust);
    const std::uint64_t samples = 1 + random.Below(100);
    const std::uint64_t unknowns = 2 + random.Below(30);
    for (int step = 1; step <= 300; ++step) {
      played.Step(samples, unknowns);
      double asked = 0;
      for (const std::uint32_t expert : played.turn) {
        asked += static_cast<double>(grid.NumbersOf(expert));
        EXPECT_GE(static_cast<double>(samples) * (step + 1), GramSchedule::kLeastSamples);
      }
      EXPECT_LE(asked, rules.budget * rules.burst);
      // What is asked for is sent in the next step, when as much has flowed in as in this one.
      EXPECT_LE(played.numbers + asked, rules.budget * (step + 1));
      EXPECT_LE(played.numbers + asked,
                rules.disclosure * (played.unknowns + static_cast<double>(samples * unknowns)) *
                    (1 + 1e-12));
      EXPECT_TRUE(std::ranges::is_sorted(played.turn));
    }
  }
}

TEST(GramSchedule, BeginsWithTheFirstSumThatIsLargeEnough) {
  const GramGrid grid(2, 21);
  Played played(grid, {}, Even(grid));
  EXPECT_THAT(played.schedule.NextTurn(), IsEmpty());
  played.Step(15, 16);  // 30 samples are expected: too few
  EXPECT_THAT(played.turn, IsEmpty());
  played.Step(15, 16);
  EXPECT_THAT(played.turn, ElementsAre(0, 3));  // the smallest of each kernel
}

TEST(GramSchedule, TakesUpLargerSizesOfWhatIsTrusted) {
  const GramGrid grid(3, 100);
  std::vector<double> trust(grid.experts());
  for (std::size_t e = 5; e < 10; ++e) trust[e] = 0.2;  // the second kernel
  Played played(grid, {}, trust);
  std::vector<int> turns(grid.experts());
  for (int step = 0; step < 500; ++step) {
    played.Step(100, 16);
    for (const std::uint32_t expert : played.turn) ++turns[expert];
  }
  EXPECT_GT(turns[9], 2);
  EXPECT_EQ(turns[4], 0);
  EXPECT_EQ(turns[14], 0);
  for (const std::size_t smallest : {0U, 5U, 10U}) {
    EXPECT_GT(played.schedule.Samples(smallest), 0) << "nobody is forgotten: " << smallest;
  }
}

TEST(GramSchedule, GivesSmallerSizesWhatALargerOneHas) {
  const GramGrid grid(2, 21);
  GramSchedule schedule(grid, {});
  schedule.Learnt({50, 500});
  schedule.Released(0, 20, Even(grid));
  schedule.Released(2, 50, Even(grid));
  EXPECT_EQ(schedule.Samples(0), 50);
  EXPECT_EQ(schedule.Samples(1), 50);
  EXPECT_EQ(schedule.Samples(2), 50);
  EXPECT_EQ(schedule.Samples(3), 0);
}

TEST(GramSchedule, GoesOnWithTheSameTurnsAfterAStop) {
  const GramGrid grid(3, 45);
  Played whole(grid, {}, Even(grid));
  for (int step = 0; step < 40; ++step) whole.Step(37, 9);
  std::vector<double> saved(GramSchedule::SavedSize(grid));
  whole.schedule.Save(saved);
  GramSchedule again(grid, {});
  again.Load(saved);
  for (int step = 0; step < 40; ++step) {
    whole.schedule.Learnt({37, 333});
    again.Learnt({37, 333});
    EXPECT_EQ(whole.schedule.NextTurn(), again.NextTurn());
  }
}

}  // namespace
}  // namespace polykern
