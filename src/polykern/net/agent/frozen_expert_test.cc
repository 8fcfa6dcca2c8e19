#include "polykern/net/agent/frozen_expert.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/net/configuration_texts.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

FederationConfiguration SmallFederation() {
  FederationConfiguration f{.algorithm = "pof-mkl"};
  f.options.kernels = 5;
  f.options.features = 2;
  f.problem = {3, 100, 1};
  return f;
}

TEST(ClientAlgorithm, IsThatOfTheFederationWhereNoneWasBefore) {
  const FederationConfiguration f = SmallFederation();
  const auto clients = MakeClientAlgorithm(f);
  const auto server = MakeAlgorithm(f);
  EXPECT_EQ(clients->state_size(), server->state_size());
  EXPECT_EQ(clients->experts(), server->experts());
  EXPECT_EQ(clients->shape().model_size(), server->shape().model_size());
}

TEST(StartingStates, AreThoseOfNewClientsUnlessWeightsAreGiven) {
  const auto algorithm =
      MakeClientAlgorithm({.algorithm = "pof-gram", .problem = {3, 100, 1}});  // it exports weights
  std::vector<double> fresh(algorithm->state_size());
  algorithm->Start(fresh);
  EXPECT_EQ(StartingState(*algorithm, {}), fresh);
  std::vector<double> uneven(algorithm->experts(), 0.5 / static_cast<double>(algorithm->experts()));
  uneven.front() += 0.5;
  EXPECT_NE(StartingState(*algorithm, uneven), fresh);
}

TEST(StartingStates, AreNotMadeOfWeightsOfOtherExperts) {
  const auto algorithm = MakeClientAlgorithm(SmallFederation());
  for (const std::size_t count : {1U, 4U, 6U}) {
    const std::vector<double> weights(count, 1.0 / static_cast<double>(count));
    try {
      StartingState(*algorithm, weights);
      FAIL() << count;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("weights of " + std::to_string(count) + " experts"));
    }
  }
}

TEST(Federations, DifferInAnythingButTheirEpoch) {
  FederationConfiguration one = SmallFederation();
  FederationConfiguration other = one;
  other.epoch = 3;
  other.epoch_begin = 40;
  EXPECT_THAT(DifferencesButEpoch(ToTexts(one), ToTexts(other)), IsEmpty());
  other.options.kernels = 7;
  EXPECT_THAT(DifferencesButEpoch(ToTexts(one), ToTexts(other)), HasSubstr("kernels"));
}

TEST(Federations, ThatBeganFromNothingDescendFromNone) {
  const FederationConfiguration f = SmallFederation();
  EXPECT_EQ(DescentOf(f, ToTexts(f)), Descent::kNone);
  FederationConfiguration damaged = f;
  damaged.from = "not a model";
  EXPECT_THROW(DescentOf(damaged, ToTexts(f)), Error);
  EXPECT_THROW(MakeClientAlgorithm(damaged), Error);
}

}  // namespace
}  // namespace polykern
