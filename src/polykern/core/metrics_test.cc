#include "polykern/core/metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/core/experts.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

TEST(RegretBound, IsTheoremTwo) {
  EXPECT_DOUBLE_EQ(RegretBound(51, 0.1, 500), std::log(51.0) / 0.1 + 25);
  EXPECT_DOUBLE_EQ(RegretBound(1, 0.5, 8), 2);
}

TEST(RegretBound, HoldsForHedgeOnRandomLosses) {
  // The theorem itself, on its own algorithm: losses in [0, 1], any rate.
  for (const double rate : {0.02, 0.1, 0.5}) {
    Random random(5, Purpose::kTest);
    constexpr std::size_t kKernels = 9;
    constexpr std::size_t kSteps = 400;
    Scoreboard board(1, kKernels);
    std::array<double, kKernels> cumulative{};
    std::array<double, kKernels> weights{};
    for (std::size_t t = 0; t < kSteps; ++t) {
      HedgeWeights(cumulative, rate, weights);
      std::array<double, kKernels> losses{};
      double mean = 0;
      for (std::size_t i = 0; i < kKernels; ++i) {
        losses.at(i) = random.Uniform();
        cumulative.at(i) += losses.at(i);
        mean += weights.at(i) * losses.at(i);
      }
      board.Record(0, mean, mean, losses);
    }
    EXPECT_TRUE(board.LossesInUnitRange(0));
    EXPECT_LE(board.Regret(0), RegretBound(kKernels, rate, kSteps));
  }
}

TEST(SpreadOf, GivesMeanAndPopulationDeviation) {
  const Spread spread = SpreadOf(std::array{2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0});
  EXPECT_DOUBLE_EQ(spread.mean, 5);
  EXPECT_DOUBLE_EQ(spread.deviation, 2);
}

TEST(SpreadOf, IsZeroForNoneAndHasNoDeviationForOne) {
  EXPECT_EQ(SpreadOf({}).mean, 0);
  EXPECT_EQ(SpreadOf({}).deviation, 0);
  EXPECT_EQ(SpreadOf(std::array{3.5}).mean, 3.5);
  EXPECT_EQ(SpreadOf(std::array{3.5}).deviation, 0);
}

TEST(SpreadOf, KeepsItsDigitsOnALargeOffset) {
  EXPECT_NEAR(SpreadOf(std::array{1e9 + 1, 1e9 - 1}).deviation, 1, 1e-12);
}

TEST(Scoreboard, AddsUpEachClientAlone) {
  Scoreboard board(3, 2);
  board.Record(0, 0.25, 0.5, std::array{0.125, 0.75});
  board.Record(2, 1, 1, std::array{1.0, 1.0});
  board.Record(0, 0.5, 0.25, std::array{0.5, 0.0});
  EXPECT_EQ(board.clients(), 3U);
  EXPECT_EQ(board.Steps(0), 2U);
  EXPECT_EQ(board.Steps(1), 0U);
  EXPECT_EQ(board.Steps(2), 1U);
  EXPECT_EQ(board.SquaredError(0), 0.75);
  EXPECT_EQ(board.SquaredError(1), 0);
  EXPECT_EQ(board.SquaredError(2), 1);
  EXPECT_EQ(board.Regret(0), 0.75 - 0.625);  // the best kernel in hindsight, not step by step
  EXPECT_EQ(board.Regret(1), 0);
  EXPECT_EQ(board.Regret(2), 0);
}

TEST(Scoreboard, MeasuresRegretWithoutKernelsAgainstNothing) {
  Scoreboard board(2, 0);
  board.Record(1, 0.25, 0.5, {});
  EXPECT_EQ(board.Regret(0), 0);
  EXPECT_EQ(board.Regret(1), 0.5);
}

TEST(Scoreboard, AllowsNegativeRegret) {
  Scoreboard board(1, 2);
  board.Record(0, 0, 0, std::array{0.5, 0.25});
  EXPECT_EQ(board.Regret(0), -0.25);
}

TEST(Scoreboard, RemembersThatOneLossLeftTheUnitRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  struct Case {
    double loss;
    std::array<double, 2> kernels;
    bool in_range;
  };
  for (const Case& c :
       {Case{0, {0, 1}, true}, Case{1, {1, 0}, true}, Case{1.01, {0, 0}, false},
        Case{-0.01, {0, 0}, false}, Case{0.5, {0.5, 1.01}, false}, Case{0.5, {-0.01, 0.5}, false},
        Case{nan, {0, 0}, false}, Case{0, {0, nan}, false}}) {
    Scoreboard board(2, 2);
    board.Record(1, 0, c.loss, c.kernels);
    board.Record(1, 0, 0.5, std::array{0.5, 0.5});  // a good step does not mend it
    EXPECT_EQ(board.LossesInUnitRange(1), c.in_range)
        << c.loss << " " << c.kernels[0] << " " << c.kernels[1];
    EXPECT_TRUE(board.LossesInUnitRange(0));
  }
}

TEST(Scoreboard, ResumesFromWhatWasSaved) {
  Scoreboard board(2, 2);
  board.Record(0, 0.25, 2, std::array{0.125, 0.75});
  board.Record(1, 0.5, 0.5, std::array{0.25, 0.125});
  Scoreboard copy(2, 2);
  copy.Record(1, 9, 9, std::array{9.0, 9.0});  // is overwritten
  copy.Load(board.Save());
  for (Scoreboard* each : {&board, &copy}) {
    each->Record(0, 0.5, 0.25, std::array{1.0, 0.0});
    EXPECT_EQ(each->Steps(0), 2U);
    EXPECT_EQ(each->SquaredError(0), 0.75);
    EXPECT_EQ(each->Regret(0), 2.25 - 0.75);
    EXPECT_EQ(each->Regret(1), 0.375);
    EXPECT_FALSE(each->LossesInUnitRange(0));
    EXPECT_TRUE(each->LossesInUnitRange(1));
  }
  EXPECT_EQ(board.Save(), copy.Save());
}

TEST(Scoreboard, HasTheRegretThatASlowSumHas) {
  for (const std::size_t kernels : {1U, 3U, 17U, 51U}) {
    Random random(kernels, Purpose::kTest);
    constexpr std::size_t kClients = 3;
    Scoreboard board(kClients, kernels);
    std::vector<std::vector<double>> sums(kClients, std::vector<double>(kernels));
    std::vector<double> mine(kClients);
    std::vector<std::uint64_t> steps(kClients);
    for (int t = 0; t < 60; ++t) {
      const std::size_t client = random.Below(kClients);
      std::vector<double> losses(kernels);
      for (std::size_t i = 0; i < kernels; ++i) {
        losses[i] = random.Uniform();
        sums[client][i] += losses[i];
      }
      const double loss = random.Uniform();
      mine[client] += loss;
      ++steps[client];
      board.Record(client, 2 * loss, loss, losses);
      if (t == 30) {  // a run that was stopped here goes on alike
        Scoreboard other(kClients, kernels);
        other.Load(board.Save());
        board = other;
      }
      const double best = *std::ranges::min_element(sums[client]);
      EXPECT_EQ(board.Regret(client), mine[client] - best);
      EXPECT_EQ(board.Steps(client), steps[client]);
      EXPECT_NEAR(board.SquaredError(client), 2 * mine[client], 1e-12);
    }
    EXPECT_TRUE(board.LossesInUnitRange(0) && board.LossesInUnitRange(1));
  }
}

TEST(SpreadOf, MovesWithAShiftAndGrowsWithAFactor) {
  Random random(2, Purpose::kTest);
  for (int i = 0; i < 50; ++i) {
    std::vector<double> values(2 + random.Below(20));
    for (double& value : values) value = random.Normal();
    const Spread spread = SpreadOf(values);
    std::vector<double> moved = values;
    for (double& value : moved) value = 3 - 4 * value;
    EXPECT_NEAR(SpreadOf(moved).mean, 3 - 4 * spread.mean, 1e-12);
    EXPECT_NEAR(SpreadOf(moved).deviation, 4 * spread.deviation, 1e-12);
    const auto [low, high] = std::ranges::minmax(values);
    EXPECT_GE(spread.mean, low);
    EXPECT_LE(spread.mean, high);
    EXPECT_LE(spread.deviation, (high - low) / 2 + 1e-15);  // Popoviciu
  }
}

TEST(RegretBound, IsLeastAtTheRateThatBalancesItsTerms) {
  for (const std::size_t steps : {10U, 500U, 100'000U}) {
    const double best = std::sqrt(2 * std::log(51.0) / static_cast<double>(steps));
    EXPECT_NEAR(RegretBound(51, best, steps),
                std::sqrt(2 * std::log(51.0) * static_cast<double>(steps)), 1e-9);
    EXPECT_GT(RegretBound(51, 1.1 * best, steps), RegretBound(51, best, steps));
    EXPECT_GT(RegretBound(51, 0.9 * best, steps), RegretBound(51, best, steps));
  }
}

}  // namespace
}  // namespace polykern
