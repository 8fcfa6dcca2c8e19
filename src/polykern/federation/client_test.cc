#include "polykern/federation/client.h"

#include <array>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr std::size_t kInputs = 2;
constexpr std::size_t kClients = 5;

class ClientsAndRound : public testing::Test {
 protected:
  ClientsAndRound() {
    AlgorithmOptions options;
    options.kernels = 6;
    options.features = 4;
    options.kernels_per_upload = 4;
    options.exploration = 0.4;
    options.learning_rate = options.weight_rate = 0.5;
    algorithm = MakeAlgorithm("pof-mkl", options, {kInputs, 100, 9});
    Random random(31, Purpose::kTest);
    broadcast.step = 3;
    for (std::size_t i = 0; i < algorithm->shape().model_size(); ++i) {
      broadcast.model.push_back(static_cast<float>(random.Normal()));
    }
    for (float& value : x) value = static_cast<float>(random.Normal());
    for (double& label : labels) label = random.Uniform();
  }

  Clients NewClients() const { return {*algorithm, 100, kClients}; }

  static std::vector<double> StateOf(Clients& clients, std::size_t k) {
    const auto state = clients.State(k);
    return {state.begin(), state.end()};
  }

  std::unique_ptr<Algorithm> algorithm;
  Broadcast broadcast;
  std::array<float, kClients * kInputs> x{};
  std::array<double, kClients> labels{};
  const std::array<std::uint8_t, kClients> everybody = {1, 1, 1, 1, 1};
};

TEST_F(ClientsAndRound, StartAtZeroWithConsecutiveIdentities) {
  Clients clients = NewClients();
  EXPECT_EQ(clients.size(), kClients);
  EXPECT_EQ(clients.Id(0), 100U);
  EXPECT_EQ(clients.Id(4), 104U);
  EXPECT_EQ(clients.Save().size(), kClients * algorithm->state_size());
  EXPECT_THAT(clients.Save(), Each(0));
}

TEST_F(ClientsAndRound, GiveEveryClientItsOwnState) {
  Clients clients = NewClients();
  for (std::size_t k = 0; k < kClients; ++k) {
    for (double& value : clients.State(k)) value += static_cast<double>(k + 1);
  }
  for (std::size_t k = 0; k < kClients; ++k) {
    EXPECT_EQ(StateOf(clients, k), std::vector<double>(6, static_cast<double>(k + 1)));
  }
}

TEST_F(ClientsAndRound, LoadWhatWasSavedAndRefuseAnythingElse) {
  Clients clients = NewClients();
  clients.State(2)[1] = 7;
  Clients copy = NewClients();
  copy.Load(clients.Save());
  EXPECT_EQ(copy.Save(), clients.Save());
  EXPECT_EQ(copy.State(2)[1], 7);
  for (const std::size_t size : {0U, 29U, 31U}) {
    EXPECT_THROW(copy.Load(std::vector<double>(size, 1.0)), Error);
  }
  EXPECT_EQ(copy.Save(), clients.Save());
}

TEST_F(ClientsAndRound, PredictForThePresentOnly) {
  Clients clients = NewClients();
  ClientRound all(*algorithm);
  all.Predict(broadcast, clients, 0, x, everybody);
  const std::vector<double> predictions(all.predictions().begin(), all.predictions().end());
  ASSERT_EQ(predictions.size(), kClients);

  ClientRound some(*algorithm);
  some.Predict(broadcast, clients, 0, x, std::array<std::uint8_t, 5>{0, 1, 0, 1, 1});
  EXPECT_THAT(some.participants(), ElementsAre(1, 3, 4));
  EXPECT_THAT(some.predictions(), ElementsAre(predictions[1], predictions[3], predictions[4]));
}

TEST_F(ClientsAndRound, TellWhatEachKernelPredicts) {
  Clients clients = NewClients();
  for (std::size_t k = 0; k < kClients; ++k) clients.State(k)[k] = 0.7;  // unequal weights
  ClientRound round(*algorithm);
  round.Predict(broadcast, clients, 0, x, std::array<std::uint8_t, 5>{0, 1, 0, 1, 1});
  std::vector<double> weights(6);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(round.KernelPredictions(i).size(), 6U);
    algorithm->Weights(clients.State(round.participants()[i]), broadcast.step, weights);
    double mixed = 0;
    for (std::size_t kernel = 0; kernel < 6; ++kernel) {
      mixed += weights[kernel] * static_cast<double>(round.KernelPredictions(i)[kernel]);
    }
    EXPECT_NEAR(mixed, round.predictions()[i], 1e-9);
  }
}

TEST_F(ClientsAndRound, PredictChangesNoState) {
  Clients clients = NewClients();
  for (double& value : clients.State(3)) value = 0.5;
  const auto before = clients.Save();
  ClientRound round(*algorithm);
  round.Predict(broadcast, clients, 0, x, everybody);
  round.Predict(broadcast, clients, 0, x, everybody);
  EXPECT_EQ(clients.Save(), before);
}

TEST_F(ClientsAndRound, LeaveTheStateOfAbsentClientsAlone) {
  Clients clients = NewClients();
  for (std::size_t k = 0; k < kClients; ++k) {
    for (double& value : clients.State(k)) value = 0.25 * static_cast<double>(k);
  }
  Clients before = clients;
  ClientRound round(*algorithm);
  round.Predict(broadcast, clients, 0, x, std::array<std::uint8_t, 5>{0, 1, 0, 1, 0});
  const Updates& updates = round.Learn(labels);
  EXPECT_THAT(updates.clients, ElementsAre(101, 103));
  EXPECT_EQ(updates.step, 3U);
  for (const std::size_t absent : {0U, 2U, 4U}) {
    EXPECT_EQ(StateOf(clients, absent), StateOf(before, absent));
  }
  for (const std::size_t present : {1U, 3U}) {
    EXPECT_NE(StateOf(clients, present), StateOf(before, present));
  }
}

TEST_F(ClientsAndRound, LearnTheSameAloneAsInAnyCompany) {
  Clients together = NewClients();
  Clients apart = NewClients();
  ClientRound round(*algorithm);
  ClientRound single(*algorithm);
  for (int step = 0; step < 4; ++step) {
    broadcast.step = static_cast<std::uint64_t>(step);
    round.Predict(broadcast, together, 0, x, everybody);
    const Updates all = round.Learn(labels);
    const std::size_t width = algorithm->shape().width;
    for (std::size_t k = 0; k < kClients; ++k) {
      single.Predict(broadcast, apart, k, std::span(x).subspan(k * kInputs, kInputs),
                     std::array<std::uint8_t, 1>{1});
      EXPECT_EQ(single.predictions()[0], round.predictions()[k]);
      const Updates& one = single.Learn(std::span(labels).subspan(k, 1));
      EXPECT_THAT(one.clients, ElementsAre(100 + k));
      EXPECT_THAT(one.blocks, testing::ElementsAreArray(all.BlocksOf(k)));
      EXPECT_THAT(one.values,
                  testing::ElementsAreArray(
                      std::span(all.values).subspan(all.first[k] * width, one.values.size())));
      EXPECT_THAT(single.KernelLosses(0), testing::ElementsAreArray(round.KernelLosses(k)));
    }
    EXPECT_EQ(together.Save(), apart.Save());
  }
}

TEST_F(ClientsAndRound, TakeTheirUniformsAndLabelsByPlaceNotByTurn) {
  Clients one = NewClients();
  Clients two = NewClients();
  ClientRound round(*algorithm);
  const std::array<std::uint8_t, 5> last = {0, 0, 0, 0, 1};
  const auto updates_with = [&](Clients& clients, std::array<double, 5> uniforms,
                                std::array<double, 5> truth) {
    round.Predict(broadcast, clients, 0, x, last, uniforms);
    return round.Learn(truth);
  };
  // The numbers of absent clients have no influence; those of the present one do.
  const Updates a = updates_with(one, {0, 0, 0, 0, 0.99}, {0, 0, 0, 0, 0.5});
  const Updates b = updates_with(two, {0.99, 0.99, 0.99, 0.99, 0.99}, {9, 9, 9, 9, 0.5});
  EXPECT_EQ(a.blocks, b.blocks);
  EXPECT_EQ(a.values, b.values);
  EXPECT_EQ(one.Save(), two.Save());
  Clients three = NewClients();
  EXPECT_NE(updates_with(three, {0.99, 0.99, 0.99, 0.99, 0}, {0, 0, 0, 0, 0.5}).blocks, a.blocks);
}

TEST_F(ClientsAndRound, ReportTheLossesThatWentIntoTheState) {
  Clients clients = NewClients();
  ClientRound round(*algorithm);
  round.Predict(broadcast, clients, 1, std::span(x).subspan(2, 6),
                std::array<std::uint8_t, 3>{1, 0, 1});
  round.Learn(std::span(labels).subspan(1, 3));
  EXPECT_THAT(round.KernelLosses(0), testing::ElementsAreArray(StateOf(clients, 1)));
  EXPECT_THAT(round.KernelLosses(1), testing::ElementsAreArray(StateOf(clients, 3)));
  EXPECT_THAT(StateOf(clients, 2), Each(0));
}

TEST_F(ClientsAndRound, SendAnEmptyButValidCohortIfNoClientIsThere) {
  Clients clients = NewClients();
  ClientRound round(*algorithm);
  round.Predict(broadcast, clients, 0, x, std::array<std::uint8_t, 5>{});
  EXPECT_TRUE(round.participants().empty());
  EXPECT_TRUE(round.predictions().empty());
  const Updates& updates = round.Learn(labels);
  EXPECT_EQ(updates.size(), 0U);
  EXPECT_NO_THROW(CheckUpdates(algorithm->shape(), updates));
  EXPECT_THAT(clients.Save(), Each(0));
}

}  // namespace
}  // namespace polykern
