#include "polykern/net/server/model_export.h"

#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/registry.h"
#include "polykern/federation/client.h"
#include "polykern/federation/coordinator.h"
#include "polykern/federation/sample_buffer.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/agent/model_predictor.h"
#include "polykern/net/configuration_texts.h"

namespace polykern {
namespace {

using testing::HasSubstr;

constexpr std::uint8_t kOneClientIsThere[] = {1};

/// A federation of one client that has learnt for a while: its store, and the client.
struct SmallFleet {
  SmallFleet(const std::string& name, std::uint64_t steps) {
    federation.algorithm = name;
    federation.options.kernels = 6;
    federation.options.features = 4;
    federation.scaling = "range";
    federation.columns = {{"wind", 0, 20}, {"heat", -40, 60}};
    federation.target = {"power", 0, 3000};
    federation.problem = {2, 100, 5};
    algorithm = MakeAlgorithm(federation);
    clients.emplace(*algorithm, 0, 1);
    Learn(steps);
  }

  static std::array<float, 2> InputsAt(std::uint64_t step) {
    const auto t = static_cast<float>(step);
    return {std::sin(t), std::cos(3 * t)};
  }

  void Learn(std::uint64_t steps) {
    SampleBuffer buffer(2, algorithm->kept_samples());
    ClientRound round(*algorithm);
    round.ReadFrom(buffer);
    Coordinator coordinator(*algorithm, 1);
    for (std::uint64_t step = 0; step < steps; ++step) {
      const auto x = InputsAt(step);
      const double y = 0.5 + 0.3 * static_cast<double>(x[0] * x[1]);
      round.Predict(coordinator.broadcast(), *clients, 0, x, kOneClientIsThere);
      if (algorithm->kept_samples() > 0) buffer.Add(x, y);
      coordinator.Receive(round.Learn(std::array{y}));
      coordinator.Commit();
    }
    store.configuration = ToTexts(federation);
    store.newest = ResumePoint{steps, coordinator.Save()};
    broadcast = coordinator.broadcast();
    weights = coordinator.MeanWeights();
  }

  /// Of a client in this state, which learns nothing.
  double PredictionOf(Clients& client, std::span<const float> x) const {
    ClientRound round(*algorithm);
    round.Predict(broadcast, client, 0, x, kOneClientIsThere);
    return algorithm->loss().Predicted(round.predictions()[0]);
  }

  FederationConfiguration federation;
  std::unique_ptr<Algorithm> algorithm;
  std::optional<Clients> clients;
  StoreContents store;
  Broadcast broadcast;
  std::vector<double> weights;
};

TEST(AModelExport, OfEveryAlgorithmPredictsWithTheBitsOfItsClients) {
  for (const std::string_view name : AlgorithmNames()) {
    SmallFleet fleet{std::string(name), 40};
    const ExportedModel model = DecodeExport(EncodeExport(ExportModel(fleet.store)));
    ModelPredictor predictor(model);
    Clients fresh(*fleet.algorithm, 0, 1);
    if (!fleet.weights.empty()) fleet.algorithm->SetWeights(fleet.weights, fresh.State(0));
    ModelPredictor as_client(model, AgentState{.configuration = fleet.store.configuration,
                                               .private_state = fleet.clients->Save(),
                                               .model = {}});
    for (std::uint64_t step = 100; step < 110; ++step) {
      const auto x = SmallFleet::InputsAt(step);
      EXPECT_EQ(predictor.Predict(x).value, fleet.PredictionOf(fresh, x)) << name;
      EXPECT_EQ(predictor.Predict(x).step, 40U);
      EXPECT_EQ(as_client.Predict(x).value, fleet.PredictionOf(*fleet.clients, x)) << name;
    }
  }
}

TEST(AModelExport, HasTheWeightsThatClientsHaveToldOf) {
  SmallFleet fleet("pof-gram", 80);
  const ExportedModel model = ExportModel(fleet.store);
  ASSERT_EQ(model.weights.size(), fleet.algorithm->experts());
  EXPECT_NEAR(std::accumulate(model.weights.begin(), model.weights.end(), 0.0), 1, 1e-6);
  Clients fresh(*fleet.algorithm, 0, 1);
  fleet.algorithm->SetWeights(model.weights, fresh.State(0));
  std::vector<double> weights(model.weights.size());
  ASSERT_TRUE(fleet.algorithm->Weights(fresh.State(0), 0, weights));
  for (std::size_t e = 0; e < weights.size(); ++e) EXPECT_NEAR(weights[e], model.weights[e], 1e-6);
  EXPECT_TRUE(ExportModel(SmallFleet("pof-mkl", 5).store).weights.empty());
}

TEST(AModelExport, IsAtMostATenthLargerThanTheta) {
  const SmallFleet fleet("pof-gram", 40);
  const double theta = static_cast<double>(sizeof(float) * fleet.broadcast.model.size());
  EXPECT_LE(static_cast<double>(EncodeExport(ExportModel(fleet.store)).size()), 1.1 * theta);
}

TEST(AModelExport, NeedsAStepAndAModelThatFits) {
  StoreContents store = SmallFleet("pof-mkl", 5).store;
  ExportedModel model = ExportModel(store);
  model.weights = {1};
  EXPECT_THAT(MessageOf([&] { ModelPredictor{model}; }), HasSubstr("weights of 1 experts"));
  model = ExportModel(store);
  model.model.values.pop_back();
  EXPECT_THAT(MessageOf([&] { ModelPredictor{model}; }), HasSubstr("inconsistent lengths"));
  store.newest.reset();
  EXPECT_THAT(MessageOf([&] { ExportModel(store); }), HasSubstr("no step is committed yet"));
}

TEST(AModelExport, DoesNotTakeTheStateOfAnotherFederation) {
  const SmallFleet fleet("pof-mkl", 5);
  SmallFleet other("pof-mkl", 5);
  other.federation.columns[0].high = 40;
  AgentState state{.configuration = ToTexts(other.federation),
                   .private_state = other.clients->Save()};
  const auto use = [&] { ModelPredictor(ExportModel(fleet.store), state); };
  EXPECT_THAT(MessageOf(use), HasSubstr("of another federation than the model (column.0: 0:40 "));
  state.configuration = fleet.store.configuration;
  state.configuration["epoch"] = "3";
  EXPECT_NO_THROW(use());
}

}  // namespace
}  // namespace polykern
