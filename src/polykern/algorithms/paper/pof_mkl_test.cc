#include "polykern/algorithms/paper/pof_mkl.h"

#include <array>
#include <bit>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/kernels.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// One client of one algorithm, with its state.
struct Client {
  explicit Client(const Algorithm& its_algorithm, std::uint64_t its_id = 0)
      : ids{its_id}, state(its_algorithm.state_size()), step(its_algorithm.NewCpuStep()) {}

  /// uniforms: one or none.
  double Predict(const Broadcast& broadcast, const std::vector<float>& x,
                 std::vector<double> uniforms) {
    states[0] = state.data();
    draw = std::move(uniforms);
    step->Predict(broadcast, {ids, x, states, draw});
    return step->predictions()[0];
  }
  double Predict(const Broadcast& broadcast, const std::vector<float>& x, double uniform) {
    return Predict(broadcast, x, std::vector{uniform});
  }
  const Updates& Learn(double label) { return step->Learn(std::array{label}); }

  std::array<std::uint64_t, 1> ids;
  std::array<double*, 1> states{};
  std::vector<double> draw;
  std::vector<double> state;
  std::unique_ptr<CohortStep> step;
};

/// Seven kernels of five features in three dimensions, with a model and a sample.
struct Example {
  Example() {
    Random random(21, Purpose::kTest);
    std::vector<float> rho(105);  // 7 x 5 x 3
    for (float& value : rho) value = static_cast<float>(0.5 * random.Normal());
    bank = std::make_shared<const KernelBank>(rho, 7, 5, 3);
    broadcast.step = 4;
    for (int i = 0; i < 7 * 10; ++i) {
      broadcast.model.push_back(static_cast<float>(0.3 * random.Normal()));
    }
    x = {0.5F, -0.25F, 0.8F};
    for (int i = 0; i < 7; ++i) state.push_back(3 * random.Uniform());
    options.kernels_per_upload = 3;
    options.exploration = 0.3;
    options.learning_rate = 0.125;
    options.weight_rate = 0.7;
    options.regularization = 0.01;
  }

  std::unique_ptr<Algorithm> Make() const { return NewPofMkl({bank, options, {3, 100, 5}}); }

  /// The features of kernel i, in double.
  std::vector<double> Features(std::size_t i) const {
    std::vector<double> z(10);
    for (std::size_t j = 0; j < 5; ++j) {
      double angle = 0;
      for (std::size_t c = 0; c < 3; ++c) {
        angle += static_cast<double>(bank->Frequencies(i)[j * 3 + c]) * static_cast<double>(x[c]);
      }
      z[j] = std::sin(angle) / std::sqrt(5.0);
      z[5 + j] = std::cos(angle) / std::sqrt(5.0);
    }
    return z;
  }
  double Theta(std::size_t i, std::size_t j) const {
    return static_cast<double>(broadcast.model[i * 10 + j]);
  }
  double Prediction(std::size_t i) const {
    const auto z = Features(i);
    double f = 0;
    for (std::size_t j = 0; j < 10; ++j) f += Theta(i, j) * z[j];
    return f;
  }

  std::shared_ptr<const KernelBank> bank;
  Broadcast broadcast;
  std::vector<float> x;
  std::vector<double> state;
  AlgorithmOptions options;
};

TEST(PofMkl, DescribesItself) {
  const Example example;
  const auto algorithm = example.Make();
  EXPECT_EQ(algorithm->name(), "pof-mkl");
  EXPECT_EQ(algorithm->shape().blocks, 7U);
  EXPECT_EQ(algorithm->shape().width, 10U);
  EXPECT_EQ(algorithm->shape().blocks_per_update, 3U);
  EXPECT_EQ(algorithm->experts(), 7U);
  EXPECT_EQ(algorithm->state_size(), 7U);
  EXPECT_EQ(algorithm->weight_rate(), 0.7);
  EXPECT_EQ(algorithm->NewServer()->broadcast().model.size(), 70U);
}

TEST(PofMkl, TakesUnsetRatesFromTheHorizon) {
  Example example;
  example.options.learning_rate.reset();
  example.options.weight_rate.reset();
  const auto algorithm = example.Make();
  EXPECT_DOUBLE_EQ(algorithm->weight_rate(), 0.1);
  Client client(*algorithm);
  client.Predict(example.broadcast, example.x, 0);
  const auto by_horizon = client.Learn(1).values;
  example.options.learning_rate = example.options.weight_rate = 0.1;
  const auto same = example.Make();
  Client other(*same);
  other.Predict(example.broadcast, example.x, 0);
  EXPECT_EQ(other.Learn(1).values, by_horizon);
}

TEST(PofMkl, PredictsTheWeightedMeanOfItsKernels) {
  const Example example;
  const auto algorithm = example.Make();
  Client client(*algorithm);
  client.state = example.state;
  double expected = 0;
  double total = 0;
  for (std::size_t i = 0; i < 7; ++i) {
    const double weight = std::exp(-0.7 * example.state[i]);
    expected += weight * example.Prediction(i);
    total += weight;
  }
  EXPECT_NEAR(client.Predict(example.broadcast, example.x, 0.5), expected / total, 1e-6);
}

TEST(PofMkl, PredictChangesNoStateAndMayBeRepeated) {
  const Example example;
  const auto algorithm = example.Make();
  Client client(*algorithm);
  client.state = example.state;
  const double first = client.Predict(example.broadcast, example.x, 0.5);
  client.Predict(example.broadcast, {9, 9, 9}, 0.9);
  EXPECT_EQ(client.Predict(example.broadcast, example.x, 0.5), first);
  EXPECT_EQ(client.state, example.state);
}

TEST(PofMkl, LearnAddsEachKernelsRegularisedLossToTheState) {
  for (const LossKind kind : {LossKind::kSquared, LossKind::kHuber, LossKind::kLogistic}) {
    Example example;
    example.options.loss = kind;
    const auto algorithm = example.Make();
    EXPECT_EQ(algorithm->loss().kind, kind);
    Client client(*algorithm);
    client.state = example.state;
    client.Predict(example.broadcast, example.x, 0.5);
    client.Learn(1);
    for (std::size_t i = 0; i < 7; ++i) {
      double loss = algorithm->loss().Value(example.Prediction(i), 1);
      for (std::size_t j = 0; j < 10; ++j) loss += 0.01 * std::pow(example.Theta(i, j), 2);
      EXPECT_NEAR(client.step->kernel_losses()[i], loss, 1e-5);
      EXPECT_EQ(client.state[i], example.state[i] + client.step->kernel_losses()[i]);
    }
  }
}

/// The updates of every bin, found by walking the unit interval by the probabilities returned.
std::vector<Updates> EveryBin(const Example& example, const Algorithm& algorithm, double label) {
  std::vector<Updates> all;
  double at = 0;
  while (at < 1 - 1e-9) {
    Client client(algorithm, 42);
    client.state = example.state;
    client.Predict(example.broadcast, example.x, at == 0 ? 0 : at + 1e-12);
    all.push_back(client.Learn(label));
    at += all.back().probability.at(0);
  }
  EXPECT_NEAR(at, 1, 1e-9);
  return all;
}

TEST(PofMkl, UpdateIsUnbiasedOverTheSubsetDraw) {
  for (const LossKind kind : {LossKind::kSquared, LossKind::kHuber, LossKind::kLogistic}) {
    for (const double xi : {0.05, 0.3, 1.0}) {
      Example example;
      example.options.loss = kind;
      example.options.exploration = xi;
      const auto algorithm = example.Make();
      std::vector<double> mean(70);
      std::vector<int> seen(7);
      const auto bins = EveryBin(example, *algorithm, 1);
      ASSERT_EQ(bins.size(), 3U);
      for (const Updates& updates : bins) {
        EXPECT_EQ(updates.step, 4U);
        EXPECT_THAT(updates.clients, ElementsAre(42));
        EXPECT_THAT(updates.first, ElementsAre(0, updates.blocks.size()));
        EXPECT_NO_THROW(CheckUpdates(algorithm->shape(), updates));
        for (std::size_t b = 0; b < updates.blocks.size(); ++b) {
          const std::size_t block = updates.blocks[b];
          ++seen[block];
          for (std::size_t j = 0; j < 10; ++j) {
            mean[block * 10 + j] +=
                updates.probability[0] * static_cast<double>(updates.values[b * 10 + j]);
          }
        }
      }
      EXPECT_THAT(seen, testing::Each(1));
      for (std::size_t i = 0; i < 7; ++i) {
        const auto z = example.Features(i);
        const double slope = algorithm->loss().Slope(example.Prediction(i), 1);
        for (std::size_t j = 0; j < 10; ++j) {
          const double gradient = slope * z[j] + 2 * 0.01 * example.Theta(i, j);
          EXPECT_NEAR(mean[i * 10 + j], 0.125 * gradient, 1e-6);
        }
      }
    }
  }
}

TEST(PofMkl, SendsBinsInIndexOrderWithFullExploration) {
  Example example;
  example.options.exploration = 1;
  const auto algorithm = example.Make();
  const auto bins = EveryBin(example, *algorithm, 1);
  ASSERT_EQ(bins.size(), 3U);
  EXPECT_THAT(bins[0].blocks, ElementsAre(0, 1, 2));
  EXPECT_THAT(bins[1].blocks, ElementsAre(3, 4, 5));
  EXPECT_THAT(bins[2].blocks, ElementsAre(6));
  for (const Updates& bin : bins) EXPECT_DOUBLE_EQ(bin.probability[0], 1.0 / 3);
}

TEST(PofMkl, ChoosesKernelsByTheWeightsBeforeTheLabel) {
  const Example example;
  const auto algorithm = example.Make();
  for (const double uniform : {0.0, 0.4, 0.8, 0.95}) {
    Client low(*algorithm);
    Client high(*algorithm);
    low.state = high.state = example.state;
    EXPECT_EQ(low.Predict(example.broadcast, example.x, uniform),
              high.Predict(example.broadcast, example.x, uniform));
    const Updates of_low = low.Learn(-9);
    const Updates of_high = high.Learn(9);
    EXPECT_EQ(of_low.blocks, of_high.blocks);
    EXPECT_EQ(of_low.probability, of_high.probability);
    EXPECT_NE(of_low.values, of_high.values);
    EXPECT_NE(low.state, high.state);
  }
}

TEST(PofMkl, DrawsFromTheSeedTheClientAndTheStepIfNoUniformIsGiven) {
  const Example example;
  const auto algorithm = example.Make();
  constexpr std::uint64_t kProblemSeed = 5;
  for (std::uint64_t id : {0, 1, 77}) {
    for (std::uint64_t step : {0, 1, 300}) {
      Broadcast broadcast = example.broadcast;
      broadcast.step = step;
      Client given(*algorithm, id);
      Client drawn(*algorithm, id);
      given.state = drawn.state = example.state;
      given.Predict(broadcast, example.x,
                    Random(kProblemSeed, Purpose::kSubset, id, step).Uniform());
      drawn.Predict(broadcast, example.x, std::vector<double>());
      const Updates& ours = drawn.Learn(1);
      const Updates& theirs = given.Learn(1);
      EXPECT_EQ(ours.blocks, theirs.blocks);
      EXPECT_EQ(ours.values, theirs.values);
    }
  }
}

TEST(PofMkl, FollowsAnExampleByHand) {
  // Two kernels, one feature, one dimension: z_0(x) = (0, 1) always; z_1(1) = (sin, cos)(pi/2).
  AlgorithmOptions options;
  options.learning_rate = 0.5;
  options.weight_rate = 1;
  options.regularization = 0.1;
  const auto quarter = static_cast<float>(std::acos(-1.0) / 2);
  const auto bank = std::make_shared<const KernelBank>(std::vector<float>{0, quarter}, 2, 1, 1);
  const auto algorithm = NewPofMkl({bank, options, {1, 0, 0}});
  const auto server = algorithm->NewServer();
  std::vector<std::unique_ptr<Inbox>> inboxes;
  inboxes.push_back(server->NewInbox());
  Client client(*algorithm);
  const std::vector<float> x = {1};
  constexpr float kClose = 1e-6F;

  // Step 1, y = 1: both predict 0 and lose 1. Kernel 0 goes up: (0.5 / 0.5) * 2 (0 - 1) (0, 1).
  EXPECT_EQ(client.Predict(server->broadcast(), x, 0.1), 0);
  const Updates first = client.Learn(1);
  EXPECT_THAT(client.state, ElementsAre(1, 1));
  EXPECT_THAT(first.blocks, ElementsAre(0));
  EXPECT_THAT(first.probability, ElementsAre(0.5));
  EXPECT_THAT(first.values,
              ElementsAre(testing::FloatNear(0, kClose), testing::FloatNear(-2, kClose)));
  inboxes[0]->Add(first);
  server->Commit(inboxes, 1);

  // Step 2, y = 1/2: theta_0 = (0, 2), f = (2, 0), equal weights. L_0 = 1.5^2 + 0.1 * 4 = 2.65,
  // L_1 = 0.25. Kernel 1 goes up: 2 (0 - 1/2) (1, 0).
  EXPECT_NEAR(client.Predict(server->broadcast(), x, 0.7), 1, kClose);
  const Updates second = client.Learn(0.5);
  EXPECT_NEAR(client.state[0], 3.65, kClose);
  EXPECT_NEAR(client.state[1], 1.25, kClose);
  EXPECT_THAT(second.blocks, ElementsAre(1));
  EXPECT_THAT(second.values,
              ElementsAre(testing::FloatNear(-1, kClose), testing::FloatNear(0, kClose)));
  inboxes[0]->Add(second);
  server->Commit(inboxes, 1);

  // Step 3: f = (2, 1), w_0 = 1 / (1 + e^2.4). With y = 1 kernel 0 would send
  // 2 (2 - 1) (0, 1) + 2 * 0.1 (0, 2) = (0, 2.4).
  const double w0 = 1 / (1 + std::exp(2.4));
  EXPECT_NEAR(client.Predict(server->broadcast(), x, 0.2), 1 + w0, kClose);
  const Updates third = client.Learn(1);
  EXPECT_THAT(third.values,
              ElementsAre(testing::FloatNear(0, kClose), testing::FloatNear(2.4F, kClose)));
}

TEST(PofMkl, KeepsWorkingWhereTheWeightsUnderflow) {
  Example example;
  example.options.exploration = 0.5;
  const auto algorithm = example.Make();
  Client client(*algorithm);
  client.state = {9e5, 1e6, 1.1e6, 1e7, 1.2e6, 1.3e6, 1.4e6};
  EXPECT_NEAR(client.Predict(example.broadcast, example.x, 0), example.Prediction(0), 1e-6);
  EXPECT_THAT(client.Learn(1).blocks, ElementsAre(0, 1, 2));
}

TEST(PofMkl, LearnsAFunctionOneOfItsKernelsCanRepresent) {
  AlgorithmOptions options;
  options.kernels = 5;
  options.features = 30;
  options.kernels_per_upload = 5;
  options.learning_rate = 0.4;
  const auto algorithm = MakeAlgorithm("pof-mkl", options, {1, 400, 3});
  const auto server = algorithm->NewServer();
  std::vector<std::unique_ptr<Inbox>> inboxes;
  inboxes.push_back(server->NewInbox());
  Client client(*algorithm);
  Random random(22, Purpose::kTest);
  double early = 0;
  double late = 0;
  for (int t = 0; t < 400; ++t) {
    const std::vector<float> x = {static_cast<float>(random.Uniform())};
    const double y = 0.5 + 0.5 * std::sin(6 * static_cast<double>(x[0]));
    const double error = client.Predict(server->broadcast(), x, random.Uniform()) - y;
    (t < 50 ? early : late) += t < 50 ? error * error / 50 : t >= 350 ? error * error / 50 : 0;
    inboxes[0]->Add(client.Learn(y));
    server->Commit(inboxes, 1);
  }
  EXPECT_LT(late, early / 4);
  EXPECT_LT(late, 0.02);  // the labels' own variance is about 0.12
}

}  // namespace
}  // namespace polykern
