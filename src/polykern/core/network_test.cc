#include "polykern/core/network.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/random.h"

namespace polykern {
namespace {

TEST(Network, CountsItsParameters) {
  EXPECT_EQ(Network({15, 20, 20, 1}).parameters(), 761U);
  EXPECT_EQ(Network({520, 1, 1}).parameters(), 523U);
}

TEST(Network, FollowsAnExampleByHand) {
  // Hidden: max(0, 1*2 - 1*3 + 0.5) = 0, max(0, 2*2 + 0*3 - 1) = 3; output: 5*0 + 0.5*3 + 0.25.
  const Network network({2, 2, 1});
  const std::vector<double> parameters = {1, -1, 2, 0, 0.5, -1, 5, 0.5, 0.25};
  Network::Activations activations;
  const std::vector<float> x = {2, 3};
  EXPECT_DOUBLE_EQ(network.Forward(parameters, x, activations), 1.75);
  std::vector<double> gradient(9);
  network.Backward(parameters, 2, activations, gradient);
  EXPECT_THAT(gradient, testing::ElementsAre(0, 0, 2, 3, 0, 1, 0, 6, 2));
}

TEST(Network, TheGradientIsThatOfFiniteDifferences) {
  for (const std::vector<std::size_t>& layers :
       {std::vector<std::size_t>{3, 1}, {4, 1, 1}, {5, 20, 20, 1}, {2, 7, 3, 5, 1}}) {
    const Network network(layers);
    auto parameters = network.DrawParameters({5, Purpose::kTest});
    Random random(6, Purpose::kTest);
    for (double& value : parameters) value += 0.1 * random.Normal();  // biases too
    std::vector<float> x(layers[0]);
    for (float& value : x) value = static_cast<float>(random.Uniform());
    Network::Activations activations;
    network.Forward(parameters, x, activations);
    std::vector<double> gradient(network.parameters());
    network.Backward(parameters, 1.5, activations, gradient);
    double size = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      // f is piecewise linear in one parameter: exact but for rounding, 1e-16 / h.
      constexpr double kStep = 1e-6;
      auto moved = parameters;
      moved[i] += kStep;
      const double above = network.Forward(moved, x, activations);
      moved[i] -= 2 * kStep;
      const double below = network.Forward(moved, x, activations);
      EXPECT_NEAR(gradient[i], 1.5 * (above - below) / (2 * kStep), 1e-8);
      size += std::abs(gradient[i]);
    }
    EXPECT_GT(size, 0.1);
  }
}

TEST(Network, StartsWithWeightsOfTheVarianceReluUnitsNeed) {
  const Network network({100, 200, 1});
  const auto parameters = network.DrawParameters({1, Purpose::kTest});
  EXPECT_EQ(parameters, network.DrawParameters({1, Purpose::kTest}));
  double squares = 0;
  for (std::size_t i = 0; i < 20000; ++i) squares += parameters[i] * parameters[i];
  // The mean of 20000 squares of N(0, 0.02): deviation 0.02 sqrt(2 / 20000) = 0.0002, five of them.
  EXPECT_NEAR(squares / 20000, 0.02, 0.001);
  for (std::size_t i = 20000; i < 20200; ++i) EXPECT_EQ(parameters[i], 0);
}

/// Slow and obvious: one layer after the other, each with its own matrix and biases.
double SlowForward(const std::vector<std::size_t>& layers, const std::vector<double>& parameters,
                   std::vector<double> values) {
  std::size_t at = 0;
  for (std::size_t l = 1; l < layers.size(); ++l) {
    std::vector<std::vector<double>> weights(layers[l], std::vector<double>(layers[l - 1]));
    for (auto& row : weights) {
      for (double& weight : row) weight = parameters[at++];
    }
    std::vector<double> next(layers[l]);
    for (std::size_t o = 0; o < layers[l]; ++o) {
      next[o] = parameters[at++];
      for (std::size_t i = 0; i < layers[l - 1]; ++i) next[o] += weights[o][i] * values[i];
      if (l + 1 < layers.size() && next[o] < 0) next[o] = 0;
    }
    values = next;
  }
  return values[0];
}

std::vector<double> RandomNumbers(Random& random, std::size_t count) {
  std::vector<double> numbers(count);
  for (double& number : numbers) number = random.Normal();
  return numbers;
}

TEST(Network, EqualsTheSlowVersionWithAnyLayers) {
  Network::Activations activations;  // one for all, as workers reuse them
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed, Purpose::kTest);
    std::vector<std::size_t> layers(2 + random.Below(3));
    for (std::size_t& units : layers) units = 1 + random.Below(9);
    layers.back() = 1;
    const Network network(layers);
    EXPECT_EQ(network.parameters(), Network::CountParameters(layers));
    const auto parameters = RandomNumbers(random, network.parameters());
    std::vector<float> x(layers[0]);
    for (float& value : x) value = static_cast<float>(random.Normal());
    const double slow = SlowForward(layers, parameters, {x.begin(), x.end()});
    EXPECT_NEAR(network.Forward(parameters, x, activations), slow, 1e-12 * (1 + std::abs(slow)));
  }
}

TEST(Network, HasAGradientInProportionToTheSlope) {
  const Network network({3, 5, 4, 1});
  Random random(1, Purpose::kTest);
  const auto parameters = RandomNumbers(random, network.parameters());
  const std::vector<float> x = {0.5F, -1, 2};
  Network::Activations activations;
  network.Forward(parameters, x, activations);
  std::vector<double> one(network.parameters(), 9);
  std::vector<double> minus_four(network.parameters(), 9);
  network.Backward(parameters, 1, activations, one);
  network.Backward(parameters, -4, activations, minus_four);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(minus_four[i], -4 * one[i]);
  network.Backward(parameters, 0, activations, one);
  EXPECT_THAT(one, testing::Each(0));
}

TEST(Network, GrowsWithItsInputsWhereItHasNoBiases) {
  const Network network({4, 6, 6, 1});
  const auto parameters = network.DrawParameters({2, Purpose::kTest});  // biases are 0
  Network::Activations activations;
  const std::vector<float> x = {0.5F, -1, 0.25F, 2};
  const std::vector<float> twice = {1, -2, 0.5F, 4};
  EXPECT_EQ(network.Forward(parameters, twice, activations),
            2 * network.Forward(parameters, x, activations));
}

TEST(Network, LearnsNothingThroughUnitsThatAreOff) {
  const Network network({1, 2, 1});
  const std::vector<double> parameters = {1, -1, -5, 0, 3, 4, 0.5};  // x - 5 and -x
  Network::Activations activations;
  const std::vector<float> x = {2};
  EXPECT_EQ(network.Forward(parameters, x, activations), 0.5);
  std::vector<double> gradient(7);
  network.Backward(parameters, 3, activations, gradient);
  EXPECT_THAT(gradient, testing::ElementsAre(0, 0, 0, 0, 0, 0, 3));
}

}  // namespace
}  // namespace polykern
