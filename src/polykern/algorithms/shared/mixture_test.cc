#include "polykern/algorithms/shared/mixture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/options.h"
#include "polykern/core/error.h"
#include "polykern/core/experts.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

std::vector<double> WeightsByHedge(const std::vector<double>& losses, double rate) {
  std::vector<double> weights(losses.size());
  HedgeWeights(losses, rate, weights);
  return weights;
}

constexpr Weighting kEveryWeighting[] = {Weighting::kHedge, Weighting::kAdaHedge,
                                         Weighting::kAggregating};

TEST(Mixture, CanStartWithAnyWeights) {
  const std::vector<double> wanted = {0.5, 0.1, 0, 0.4};
  for (const Weighting weighting : kEveryWeighting) {
    const Mixture mixture(wanted.size(), weighting, 0.3, 0.5);
    std::vector<double> state(mixture.StateSize());
    mixture.SetWeights(wanted, state);
    std::vector<double> weights(wanted.size());
    mixture.Weights(state, weights);
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(weights[i], wanted[i], 2e-9);
    EXPECT_TRUE(std::ranges::all_of(state, [](double value) { return std::isfinite(value); }));
  }
}

/// A mixture played under squared loss, against experts and labels that may depend on what it does.
struct Game {
  Game(std::size_t experts, Weighting weighting, double rate)
      : mixture(experts, weighting, rate),
        state(mixture.StateSize()),
        weights(experts),
        predictions(experts) {}

  /// Fills in what the experts predict, then gives the label for what the mixture makes of it.
  template <class Predict, class Label>
  void Step(const Predict& predict, const Label& label) {
    mixture.Weights(state, weights);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      predictions[i] = static_cast<float>(predict(i));
    }
    last = mixture.Predict(weights, predictions);
    const double y = label(last);
    mine += (last - y) * (last - y);
    std::vector<double> losses;
    for (const float f : predictions) losses.push_back(std::pow(static_cast<double>(f) - y, 2));
    mixture.Learn(losses, weights, state);
  }
  double Regret() const { return mine - *std::ranges::min_element(mixture.Losses(state)); }

  Mixture mixture;
  std::vector<double> state;
  std::vector<double> weights;
  std::vector<float> predictions;
  double last = 0;
  double mine = 0;
};

/// The largest regret at any time over games of several kinds, all within [0, 1].
double LargestRegret(std::size_t experts, Weighting weighting, double rate) {
  Random random(6, Purpose::kTest);
  using Predict = std::function<double(int t, std::size_t i)>;
  using Label = std::function<double(int t, double mixed)>;
  const auto away = [](int, double mixed) { return mixed < 0.5 ? 1.0 : 0.0; };
  const auto spread = [&](int, std::size_t i) {
    return experts == 1 ? 0.5 : static_cast<double>(i) / static_cast<double>(experts - 1);
  };
  const auto uniform = [&](int, std::size_t) { return random.Uniform(); };
  const std::vector<std::pair<Predict, Label>> games = {
      {uniform, [&](int, double) { return random.Uniform(); }},
      {uniform, away},
      {spread, away},
      {spread, [](int, double) { return 1.0; }},
      {spread, [&](int, double) { return random.Uniform() < 0.3 ? 1.0 : 0.0; }},
      // All but one expert are wrong: the game in which the bounds are nearly reached.
      {[](int, std::size_t i) { return i == 0 ? 1.0 : 0.0; }, [](int, double) { return 1.0; }},
      {[](int t, std::size_t i) { return (t < 500) == (i == 0) ? 0.9 : 0.2; },
       [](int, double) { return 0.9; }},
      {[](int t, std::size_t i) { return (static_cast<std::size_t>(t) >> i) % 2 ? 1.0 : 0.0; },
       away}};
  double largest = 0;
  for (const auto& [predict, label] : games) {
    Game game(experts, weighting, rate);
    for (int t = 0; t < 1000; ++t) {
      game.Step([&](std::size_t i) { return predict(t, i); },
                [&](double mixed) { return label(t, mixed); });
      EXPECT_GE(game.last, 0);
      EXPECT_LE(game.last, 1 + 1e-15);  // weights sum to 1 but for their rounding
      largest = std::max(largest, game.Regret());
    }
  }
  return largest;
}

TEST(Mixture, AtRateOneHalfLosesAtMostTwiceTheLogarithmOfTheExperts) {
  for (const std::size_t experts : {1U, 2U, 5U, 51U}) {
    const double log_n = std::log(static_cast<double>(experts));
    const double regret = LargestRegret(experts, Weighting::kHedge, 0.5);
    EXPECT_LE(regret, 2 * log_n + 1e-9) << experts;
    EXPECT_GE(regret, 0.3 * log_n) << "these games are too easy";
  }
}

TEST(Mixture, ByTheAggregatingAlgorithmLosesAtMostHalfTheLogarithmOfTheExperts) {
  for (const std::size_t experts : {1U, 2U, 5U, 51U}) {
    const double log_n = std::log(static_cast<double>(experts));
    const double regret = LargestRegret(experts, Weighting::kAggregating, 0.5);
    EXPECT_LE(regret, log_n / 2 + 1e-9) << experts;
    EXPECT_GE(regret, 0.3 * log_n) << "these games are too easy";
  }
}

TEST(Mixture, OfEqualsIsTheirMeanAndOfOneIsThatOne) {
  const std::vector<float> predictions = {0.25F, 0.75F};
  for (const Weighting weighting : kEveryWeighting) {
    const Mixture two(2, weighting, 0.5);
    EXPECT_EQ(two.experts(), 2U);
    const std::vector<double> state(two.StateSize());
    std::vector<double> weights(2);
    two.Weights(state, weights);
    EXPECT_EQ(weights, (std::vector<double>{0.5, 0.5}));
    EXPECT_DOUBLE_EQ(two.Predict(weights, predictions), 0.5) << NameOf(weighting);
    const std::vector<double> second = {0, 1};
    EXPECT_DOUBLE_EQ(two.Predict(second, predictions), 0.75) << NameOf(weighting);
  }
}

TEST(Mixture, WeighsByItsOwnRate) {
  const std::vector<double> state = {1, 3, 0.25};
  std::vector<double> weights(2);
  Mixture(2, Weighting::kHedge, 0.7).Weights(state, weights);
  EXPECT_EQ(weights, WeightsByHedge({1, 3}, 0.7));
  Mixture(2, Weighting::kAggregating, 0.7).Weights(state, weights);
  EXPECT_EQ(weights, WeightsByHedge({1, 3}, 2));
  Mixture(2, Weighting::kAdaHedge, 0.7).Weights(state, weights);
  EXPECT_EQ(weights, WeightsByHedge({1, 3}, std::log(2.0) / 0.25));
}

TEST(Mixture, LeavesAdaHedgeAsItIs) {
  Random random(7, Purpose::kTest);
  Game game(6, Weighting::kAdaHedge, 0.5);
  AdaHedge plain;
  std::vector<double> losses(6);
  std::vector<double> weights(6);
  for (int t = 0; t < 300; ++t) {
    const double y = random.Uniform();
    game.Step([&](std::size_t i) { return random.Uniform() / static_cast<double>(i + 1); },
              [&](double) { return y; });
    plain.Weights(losses, weights);
    ASSERT_EQ(game.weights, weights);
    double mixed = 0;
    std::vector<double> step;
    for (std::size_t i = 0; i < 6; ++i) {
      const auto f = static_cast<double>(game.predictions[i]);
      mixed += weights[i] * f;
      step.push_back(std::pow(f - y, 2));
    }
    ASSERT_NEAR(game.last, mixed, 1e-15);
    plain.Learn(step, weights, losses);
    ASSERT_EQ(game.state.back(), plain.mixability_gap());
  }
  EXPECT_EQ(std::vector<double>(game.state.begin(), game.state.end() - 1), losses);
  EXPECT_GT(game.state.back(), 0);
}

TEST(Mixture, KeepsOnlyTheLossesUnlessItIsAdaHedge) {
  for (const Weighting weighting : {Weighting::kHedge, Weighting::kAggregating}) {
    const Mixture mixture(2, weighting, 0.5);
    std::vector<double> state(mixture.StateSize());
    mixture.Learn(std::vector<double>{0.25, 0.5}, std::vector<double>{0.5, 0.5}, state);
    mixture.Learn(std::vector<double>{0.25, 0.25}, std::vector<double>{0.5, 0.5}, state);
    EXPECT_EQ(state, (std::vector<double>{0.5, 0.75, 0}));
  }
}

TEST(WeightingNames, AreKnownAndNoOtherIs) {
  for (const Weighting weighting : kEveryWeighting) {
    EXPECT_EQ(ValueOf<Weighting>(NameOf(weighting)), weighting);
  }
  EXPECT_EQ(ValueOf<Weighting>("hedge"), Weighting::kHedge);
  for (const std::string name : {"", "Hedge", "hedge ", "ada"}) {
    EXPECT_EQ(ValueOf<Weighting>(name), std::nullopt) << name;
  }
}

TEST(Mixture, LiesAmongItsExpertsWhateverTheWeights) {
  Random random(8, Purpose::kTest);
  for (const Weighting weighting : kEveryWeighting) {
    for (int game_number = 0; game_number < 20; ++game_number) {
      Game game(2 + random.Below(6), weighting, 0.5);
      for (int t = 0; t < 30; ++t) {
        game.Step([&](std::size_t) { return random.Uniform(); },
                  [&](double) { return random.Uniform(); });
        const auto [low, high] = std::ranges::minmax(game.predictions);
        // Weights sum to 1 but for their rounding; the substitution function stays inside as well.
        EXPECT_GE(game.last, static_cast<double>(low) - 1e-12);
        EXPECT_LE(game.last, static_cast<double>(high) + 1e-12);
      }
    }
  }
}

TEST(Mixture, ByAdaHedgeDoesNotKnowTheUnitOfTheLabels) {
  Random random(9, Purpose::kTest);
  const Mixture mixture(4, Weighting::kAdaHedge, 0);
  std::vector<double> state(mixture.StateSize());
  std::vector<double> weights(4);
  for (int t = 0; t < 20; ++t) {
    mixture.Weights(state, weights);
    std::vector<double> losses;
    for (int i = 0; i < 4; ++i) losses.push_back(random.Uniform());
    mixture.Learn(losses, weights, state);
  }
  mixture.Weights(state, weights);
  for (const double factor : {0.25, 8.0, -2.0}) {
    std::vector<double> scaled = state;
    Mixture::ScaleLabels(factor, scaled);
    EXPECT_EQ(scaled[1], factor * factor * state[1]);
    std::vector<double> after(4);
    mixture.Weights(scaled, after);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(after[i], weights[i], 1e-14);
  }
}

}  // namespace
}  // namespace polykern
