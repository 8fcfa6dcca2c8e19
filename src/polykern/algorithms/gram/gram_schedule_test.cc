#include "polykern/algorithms/gram/gram_schedule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/gram/gram_schedule_testing.h"
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
      const double lacks = learnt_ - schedule.Samples(expert) - schedule.Held(expert);
      const double fresh = expert == Smallest(grid_, turn) ? learnt_ - reach_ : 0;
      schedule.Hold(expert,
                    {Counts(lacks, unknowns_each), Counts(fresh, unknowns_each).unknowns, 1});
    }
    if (!turn.empty()) reach_ = learnt_;
    steps.push_back(static_cast<double>(samples * unknowns_each));
    unknowns += steps.back();
    schedule.Learnt({samples, samples * unknowns_each});
    for (const std::size_t expert : grid_.SmallestFirst()) {
      const double held = schedule.Held(expert);
      if (schedule.Close(expert)) Released(expert, held);
    }
    turn = schedule.NextTurn();
  }

  void Trust(std::size_t expert) {
    std::ranges::fill(trust_, 0);
    trust_[expert] = 1;
  }

  /// A sum over the samples of steps first .. last - 1.
  struct Sum {
    double numbers = 0;
    std::size_t first = 0;
    std::size_t last = 0;
  };

 private:
  const GramGrid& grid_;

 public:
  GramSchedule schedule;
  std::vector<std::uint32_t> turn;
  double numbers = 0;  ///< sent so far
  double unknowns = 0;
  std::vector<Sum> released;
  std::vector<double> steps;  ///< the unknowns of each

 private:
  void Released(std::size_t expert, double samples) {
    released.push_back(
        {static_cast<double>(grid_.NumbersOf(expert)), since_[expert], steps.size()});
    schedule.Opened(expert, samples, trust_);
    for (std::size_t e = expert + 1; e-- > 0;) {
      since_[e] = steps.size();
      if (!grid_.HasSmaller(e)) break;
    }
  }

  std::vector<double> trust_;
  std::vector<std::size_t> since_ = std::vector<std::size_t>(grid_.experts());
  double learnt_ = 0;
  double reach_ = 0;
};

/// The most numbers for each unknown, of sums over the samples of some steps in a row alone. Other
/// sets of samples are made of such runs, and have no sums that none of these has.
double MostDisclosed(const Played& played) {
  double most = 0;
  for (std::size_t first = 0; first < played.steps.size(); ++first) {
    std::vector<double> ending(played.steps.size() + 1);  // numbers, by the step before which
    for (const Played::Sum& sum : played.released) {
      if (sum.first >= first) ending[sum.last] += sum.numbers;
    }
    double unknowns = 0;
    double numbers = 0;
    for (std::size_t last = first + 1; last < ending.size(); ++last) {
      unknowns += played.steps[last - 1];
      numbers += ending[last];
      if (numbers > 0) most = std::max(most, numbers / unknowns);
    }
  }
  return most;
}

TEST(GramSchedule, KeepsDisclosureOverEverySetOfSamples) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed, Purpose::kTest);
    const GramGrid grid(1 + random.Below(5), GramGrid::kSizes[random.Below(5)]);
    GramRules rules;
    rules.burst = 1 + static_cast<double>(random.Below(30));
    rules.disclosure = 0.1 + random.Uniform();
    Played played(grid, rules, Even(grid));
    const std::uint64_t most = 20 + random.Below(200);
    const std::uint64_t unknowns = 2 + random.Below(30);
    for (int step = 0; step < 300; ++step) {
      // Clients come to trust one expert, and then another.
      if (step % 20 == 0) played.Trust(random.Below(grid.experts()));
      // Of half of the federations as many clients are there in every step, of others as it falls.
      played.Step(seed % 2 == 0 ? most : random.Below(most), unknowns);
    }
    EXPECT_LE(MostDisclosed(played), rules.disclosure * (1 + 1e-12)) << "seed " << seed;
  }
}

TEST(GramSchedule, KeepsDisclosureWhereExpertsAreTrustedAlike) {
  const GramGrid grid(4, 100);
  Played played(grid, {}, Even(grid));
  for (int step = 0; step < 300; ++step) played.Step(142, 6);
  EXPECT_GT(played.numbers, 0.4 * played.unknowns) << "little is wasted";
  EXPECT_LE(MostDisclosed(played), 0.5 * (1 + 1e-12));
}

TEST(GramSchedule, AsksForOneSizeOfAKernelInAStep) {
  const GramGrid grid(3, 21);
  Played played(grid, {.budget = 1e6, .disclosure = 50}, Even(grid));
  for (int step = 0; step < 50; ++step) {
    played.Step(100, 16);
    std::vector<int> asked(grid.kernels());
    for (const std::uint32_t expert : played.turn) ++asked[grid.KernelOf(expert)];
    EXPECT_THAT(asked, testing::Each(testing::Le(1)));
  }
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
  schedule.Opened(0, 20, Even(grid));
  schedule.Opened(2, 50, Even(grid));
  EXPECT_EQ(schedule.Samples(0), 50);
  EXPECT_EQ(schedule.Samples(1), 50);
  EXPECT_EQ(schedule.Samples(2), 50);
  EXPECT_EQ(schedule.Samples(3), 0);
  schedule.Opened(1, 30, Even(grid));
  schedule.Opened(2, 10, Even(grid));
  EXPECT_EQ(schedule.Samples(1), 80) << "it has more than the larger one";
  EXPECT_EQ(schedule.Samples(2), 60);
}

TEST(GramSchedule, GoesOnWithTheSameTurnsAfterAStop) {
  const GramGrid grid(3, 45);
  Played whole(grid, {}, Even(grid));
  for (int step = 0; step < 40; ++step) whole.Step(37, 9);
  std::vector<double> saved(GramSchedule::SavedSize(grid));
  whole.schedule.Save(saved);
  EXPECT_FALSE(whole.schedule.AnyHeld());
  GramSchedule again(grid, {});
  again.Load(saved, whole.turn);
  for (int step = 0; step < 40; ++step) {
    for (GramSchedule* schedule : {&whole.schedule, &again}) {
      for (const std::uint32_t expert : whole.turn) {
        schedule->Hold(expert, {Counts(37 * (step + 1), 9), 37 * 9, 1});
      }
      schedule->Learnt({37, 333});
      for (const std::size_t expert : grid.SmallestFirst()) {
        const double held = schedule->Held(expert);
        if (schedule->Close(expert)) schedule->Opened(expert, held, Even(grid));
      }
    }
    whole.turn = whole.schedule.NextTurn();
    EXPECT_EQ(whole.turn, again.NextTurn());
  }
}

}  // namespace
}  // namespace polykern
