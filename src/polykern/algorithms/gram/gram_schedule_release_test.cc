// When a sum is released: its own samples pay for it, and enough clients are in it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/gram/gram_schedule.h"
#include "polykern/algorithms/gram/gram_schedule_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;

/// Of 40 clients those that take turns send: `share` of them in each step, each with a sample. What
/// of it belongs to whom is told by the steps in which a client is there.
class SeldomThere {
 public:
  SeldomThere(const GramGrid& grid, const GramRules& rules, std::size_t run)
      : grid_(grid), run_(run), schedule(grid, rules, {kClients, 9 * kClients}) {
    turn = schedule.NextTurn();
  }

  void Step() {
    std::uint64_t there = 0;
    for (std::size_t k = 0; k < kClients; ++k) {
      if ((step_ / run_ + k) % 10 != 0) continue;
      ++there;
      ++learnt_[k];
      for (const std::uint32_t expert : turn) {
        const double fresh = expert == Smallest(grid_, turn) ? learnt_[k] - reach_[k] : 0;
        schedule.Hold(expert,
                      {Counts(learnt_[k] - sent_[k][expert], 9), Counts(fresh, 9).unknowns, 1});
        sent_[k][expert] = learnt_[k];
      }
      if (!turn.empty()) reach_[k] = learnt_[k];
    }
    for (const std::uint32_t expert : turn) numbers += static_cast<double>(grid_.NumbersOf(expert));
    schedule.Learnt({there, 9 * there});
    for (const std::size_t expert : grid_.SmallestFirst()) {
      const double held = schedule.Held(expert);
      if (!schedule.Close(expert)) continue;
      const auto released = static_cast<double>(grid_.NumbersOf(expert));
      EXPECT_GE(held, GramSchedule::kLeastSamples);
      EXPECT_LE(released, 0.5 * 9 * held) << "expert " << expert << " in step " << step_;
      samples += held;
      disclosed += released;
      first = std::min(first, step_);
      schedule.Opened(expert, held, Even(grid_));
    }
    ++step_;
    turn = schedule.NextTurn();
  }

  static constexpr std::size_t kClients = 40;

 private:
  const GramGrid& grid_;
  std::size_t run_;
  std::size_t step_ = 0;
  std::vector<double> learnt_ = std::vector<double>(kClients);
  std::vector<double> reach_ = std::vector<double>(kClients);
  std::vector<std::vector<double>> sent_ =
      std::vector(kClients, std::vector<double>(grid_.experts()));

 public:
  GramSchedule schedule;
  std::vector<std::uint32_t> turn;
  double samples = 0;    ///< in all sums
  double disclosed = 0;  ///< numbers of all sums
  double numbers = 0;    ///< that a client sends that is always there
  std::size_t first = 1000;
};

TEST(GramSchedule, ReleasesNoSumThatItsOwnSamplesCannotPayFor) {
  const GramGrid grid(4, 100);
  for (const std::size_t run : {1U, 3U, 10U}) {
    SeldomThere federation(grid, {}, run);
    constexpr int kSteps = 600;
    for (int step = 0; step < kSteps; ++step) federation.Step();
    EXPECT_LE(federation.disclosed, 0.5 * 9 * 4 * kSteps);
    EXPECT_GT(federation.disclosed, 0.3 * 9 * 4 * kSteps) << "little is wasted";
    EXPECT_LE(federation.numbers, 1000 * (kSteps + 1));
  }
}

TEST(GramSchedule, KeepsASumOpenUntilItsSamplesCanPay) {
  const GramGrid grid(4, 100);
  SeldomThere federation(grid, {}, 1);
  EXPECT_THAT(federation.turn, ElementsAre(0, 5)) << "if all came, 180 tokens";
  for (int step = 0; step < 9; ++step) {
    federation.Step();
    EXPECT_THAT(federation.turn, ElementsAre(0, 5, 10, 15)) << "few came: all kernels begin";
    EXPECT_EQ(federation.schedule.Held(0), 4 * (step + 1));
  }
  federation.Step();  // two sums of 86 numbers are paid for by 40 samples
  EXPECT_EQ(federation.schedule.Samples(0), 40);
  EXPECT_EQ(federation.schedule.Samples(5), 40);
  EXPECT_EQ(federation.schedule.Samples(10), 0);
  EXPECT_EQ(federation.schedule.Held(10), 36);
}

TEST(GramSchedule, ReleasesLateSumsWhenTheyCanPay) {
  const GramGrid grid(2, 21);
  GramSchedule schedule(grid, {});
  schedule.Hold(0, {{31, 310}, 310, 1});
  schedule.Learnt({1000, 10000});
  EXPECT_FALSE(schedule.Close(0)) << "too few";
  schedule.Hold(0, {{1, 10}, 10, 1});
  EXPECT_TRUE(schedule.Close(0));
  schedule.Opened(0, 32, Even(grid));
  schedule.Hold(0, {{500, 5000}, 5000, 1});
  EXPECT_FALSE(schedule.Close(0)) << "it has no tokens yet";
  schedule.Hold(2, {{100, 1000}, 1000, 1});
  EXPECT_FALSE(schedule.Close(2)) << "half of 1000 unknowns do not pay for 952 numbers";
}

TEST(GramSchedule, CountsOnNoSampleThatIsNotInAnySum) {
  const GramGrid grid(2, 5);  // 68 numbers in a sum
  GramSchedule schedule(grid, {});
  schedule.Learnt({1000, 10000});  // most of their clients stay away
  schedule.Hold(0, {{32, 140}, 140, 1});
  EXPECT_TRUE(schedule.Close(0));
  schedule.Hold(1, {{32, 140}, 130, 1});
  EXPECT_FALSE(schedule.Close(1)) << "136 numbers, and 270 unknowns";
  schedule.Hold(1, {{1, 4}, 2, 1});
  EXPECT_TRUE(schedule.Close(1));
}

TEST(GramSchedule, ReleasesNothingThatIsMostlyOfOneClient) {
  const GramGrid grid(2, 5);
  GramSchedule schedule(grid, {.least_clients = 2});
  schedule.Learnt({1000, 10000});
  schedule.Hold(0, {{100, 1000}, 1000, 1, 100 * 100});
  EXPECT_FALSE(schedule.Close(0)) << "it is of one client";
  schedule.Hold(0, {{20, 200}, 200, 2, 200});
  EXPECT_FALSE(schedule.Close(0)) << "the others have 20 samples";
  schedule.Hold(0, {{40, 400}, 400, 40, 40});
  EXPECT_TRUE(schedule.Close(0));
  GramSchedule alone(grid, {});
  alone.Learnt({1000, 10000});
  alone.Hold(0, {{100, 1000}, 1000, 1, 100 * 100});
  EXPECT_TRUE(alone.Close(0)) << "if one client is enough";
}

TEST(GramSchedule, AsksOnlyForWholeSumsWhereEverybodyMustBeInThem) {
  // 9 clients with a sample each: without the largest, of at most sqrt(9) times its share, 6 count.
  const GramGrid grid(2, 5);  // 68 numbers in a sum
  GramSchedule schedule(grid, {.least_clients = 9, .whole = true}, {9, 90});
  double sent[2] = {0, 0};
  double learnt = 0;
  int sums = 0;
  std::vector<std::uint32_t> turn = schedule.NextTurn();
  for (int step = 0; step < 60; ++step) {
    learnt += 9;
    for (const std::uint32_t expert : turn) {
      const double news = learnt - sent[expert];
      EXPECT_GE(news * 6 / 9, GramSchedule::kLeastSamples) << "step " << step;
      sent[expert] = learnt;
      const auto samples = static_cast<std::uint64_t>(news);
      schedule.Hold(
          expert,
          {{samples, 10 * samples}, expert == 0 ? 10 * samples : 0, 9, samples * samples / 9});
    }
    schedule.Learnt({9, 90});
    for (const std::uint32_t expert : turn) {
      if (!schedule.Close(expert)) continue;
      schedule.Opened(expert, sent[expert] - schedule.Samples(expert), std::vector{0.5, 0.5});
      ++sums;
    }
    turn = schedule.NextTurn();
  }
  EXPECT_GT(sums, 4);
}

TEST(GramSchedule, AsksInANewEpochForWhatIsLearntInIt) {
  const GramGrid grid(2, 5);
  GramSchedule schedule(grid, {.least_clients = 9, .whole = true});
  for (int step = 0; step < 100; ++step) schedule.Learnt({9, 90});
  schedule.BeginEpoch();
  int steps = 0;
  while (schedule.NextTurn().empty()) {
    schedule.Learnt({9, 90});
    ASSERT_LT(++steps, 20);
  }
  EXPECT_EQ(steps, 5) << "six samples of each client, of which six clients' are enough";
}

TEST(GramSchedule, TakesBackWhatWasNeverSeen) {
  const GramGrid grid(2, 5);  // 68 numbers in a sum
  GramSchedule schedule(grid, {});
  schedule.Learnt({1000, 10000});
  schedule.Hold(0, {{32, 140}, 140, 1});
  EXPECT_TRUE(schedule.Close(0));
  schedule.Refused(0, 140);
  schedule.Hold(1, {{32, 140}, 130, 1});
  EXPECT_FALSE(schedule.Close(1)) << "the first 140 unknowns are in no sum";
  schedule.Hold(1, {{2, 6}, 6, 1});
  EXPECT_TRUE(schedule.Close(1));
}

TEST(GramSchedule, HoldsTheSameAfterAStop) {
  const GramGrid grid(4, 100);
  SeldomThere whole(grid, {}, 10);
  SeldomThere stopped(grid, {}, 10);
  int held = 0;
  for (int step = 0; step < 150; ++step) {
    whole.Step();
    stopped.Step();
    std::vector<double> saved(GramSchedule::SavedSize(grid));
    stopped.schedule.Save(saved);
    std::vector<double> sums(GramSchedule::HeldSize(grid));
    stopped.schedule.SaveHeld(sums);
    const bool any = stopped.schedule.AnyHeld();
    held += any ? 1 : 0;
    stopped.schedule.Load(saved, stopped.turn);
    if (any) stopped.schedule.LoadHeld(sums);
    ASSERT_EQ(stopped.turn, whole.turn) << "step " << step;
  }
  EXPECT_GT(held, 50);
}

}  // namespace
}  // namespace polykern
