#include "polykern/core/network.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace polykern
