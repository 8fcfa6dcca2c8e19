#pragma once

// A cohort in one step of the scalar engine, drawn at random, and formulas in double for what must
// come of it.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/registry.h"
#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/kernels.h"
#include "polykern/core/random.h"
#include "polykern/scalar/scalar_engine.h"

namespace polykern::scalar {

struct StepScene {
  explicit StepScene(std::string_view name, const AlgorithmOptions& options = twin::TestOptions(),
                     std::size_t clients = 2)
      : algorithm(MakeAlgorithm(name, options, twin::kProblem)),
        bank(algorithm->definition().bank.get()),
        broadcast(algorithm->NewServer()->broadcast()),
        states(clients, twin::Vector(algorithm->state_size())),
        step(ScalarEngine().NewStep(*algorithm)) {
    broadcast.step = 4;
    for (float& value : broadcast.model) value = static_cast<float>(0.4 * random.Normal());
    for (double& weight : broadcast.weights) weight = 2 * random.Uniform();
    if (!broadcast.weights.empty()) broadcast.weights = twin::WeightsOf(broadcast.weights, 1);
    for (std::size_t c = 0; c < clients; ++c) ids.push_back(10 + c);
    DrawSamples();
  }

  void DrawSamples() {
    x.assign(ids.size(), twin::Vector(twin::kDimension));
    y.assign(ids.size(), 0);
    uniforms = y;
    for (std::size_t c = 0; c < ids.size(); ++c) {
      for (double& value : x[c]) value = static_cast<double>(static_cast<float>(random.Normal()));
      y[c] = random.Uniform();
      uniforms[c] = random.Uniform();
    }
  }
  void Run() {
    std::vector<float> all;
    std::vector<double*> pointers;
    for (const auto& each : x) all.insert(all.end(), each.begin(), each.end());
    for (auto& state : states) pointers.push_back(state.data());
    step->Predict(broadcast, {ids, all, pointers, uniforms});
    updates = step->Learn(y);
  }
  double Predicted(std::size_t c) const { return step->predictions()[c]; }

  /// theta_i of the model, z_i, f_i, and the loss and the gradient with regularisation.
  twin::Vector Theta(std::size_t i) const { return Row(broadcast.model, i); }
  twin::Vector Z(std::size_t c, std::size_t i) const { return twin::FeaturesOf(*bank, i, x[c]); }
  double F(std::size_t c, std::size_t i) const { return twin::Dot(Theta(i), Z(c, i)); }
  double L(std::size_t c, std::size_t i) const {
    return twin::LossOf(algorithm->loss(), F(c, i), y[c]) +
           algorithm->definition().options.regularization * twin::Dot(Theta(i), Theta(i));
  }
  twin::Vector Gradient(std::size_t c, std::size_t i, double rate) const {
    twin::Vector gradient = Z(c, i);
    for (std::size_t j = 0; j < gradient.size(); ++j) {
      gradient[j] = rate * (twin::SlopeOf(algorithm->loss(), F(c, i), y[c]) * gradient[j] +
                            2 * algorithm->definition().options.regularization * Theta(i)[j]);
    }
    return gradient;
  }
  /// The b-th block of all that are sent.
  twin::Vector Sent(std::size_t b) const { return Row(updates.values, b); }

  template <class Numbers>
  twin::Vector Row(const Numbers& numbers, std::size_t r) const {
    const auto row = MatrixRow(numbers, r, algorithm->shape().width);
    return {row.begin(), row.end()};
  }

  Random random{5, Purpose::kTest};
  std::unique_ptr<Algorithm> algorithm;
  const KernelBank* bank;
  Broadcast broadcast;
  std::vector<std::uint64_t> ids;
  twin::Matrix x;
  twin::Vector y;
  twin::Vector uniforms;
  twin::Matrix states;
  std::unique_ptr<CohortStep> step;
  Updates updates;
};

template <class Numbers>
void ExpectNear(const Numbers& actual, const twin::Vector& expected, double tolerance = 1e-5) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(actual[i]), expected[i], tolerance) << "at " << i;
  }
}

}  // namespace polykern::scalar
