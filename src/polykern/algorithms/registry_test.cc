#include "polykern/algorithms/registry.h"

#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/engine.h"
#include "polykern/core/error.h"

namespace polykern {
namespace {

using testing::HasSubstr;

TEST(Registry, MakesEveryAlgorithmItNames) {
  EXPECT_THAT(AlgorithmNames(), testing::Contains("pof-mkl"));
  for (const auto name : AlgorithmNames()) {
    const auto algorithm = MakeAlgorithm(name, {}, {4, 100, 1});
    EXPECT_EQ(algorithm->name(), name);
  }
}

TEST(Registry, RefusesAnUnknownNameAndListsTheKnownOnes) {
  try {
    MakeAlgorithm("fedavg", {}, {4, 100, 1});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'fedavg'"));
    for (const auto name : AlgorithmNames()) {
      EXPECT_THAT(error.what(), HasSubstr(std::string(name)));
    }
  }
}

TEST(Registry, KnowsWhoseServersNeedSingleMessages) {
  for (const auto name : AlgorithmNames()) {
    const auto algorithm = MakeAlgorithm(name, {}, {4, 100, 1});
    if (algorithm->shape().update_size() == 0) continue;  // nothing is sent
    EXPECT_EQ(algorithm->NewServer()->NewInbox()->Sums().empty(),
              TraitsOf(name).needs_single_messages)
        << name;
  }
}

TEST(Registry, RefusesBadSettings) {
  AlgorithmOptions options;
  options.exploration = 0;
  EXPECT_THROW(MakeAlgorithm("pof-mkl", options, {4, 100, 1}), Error);
  options = {};
  options.dictionary = "cauchy";
  options.orthogonal = true;
  EXPECT_THROW(MakeAlgorithm("pof-mkl", options, {4, 100, 1}), Error);
}

TEST(Registry, GivesTheModelTheShapeTheBudgetAllows) {
  AlgorithmOptions options;
  options.kernels_per_upload = 25;
  const auto algorithm = MakeAlgorithm("pof-mkl", options, {4, 100, 1});
  EXPECT_EQ(algorithm->shape().blocks, 51U);
  EXPECT_EQ(algorithm->shape().width, 40U);
  EXPECT_EQ(algorithm->shape().update_size(), 1000U);
}

TEST(Registry, DrawsFeaturesFromTheSeed) {
  const auto predict = [](std::uint64_t seed, bool orthogonal) {
    AlgorithmOptions options;
    options.orthogonal = orthogonal;
    const auto algorithm = MakeAlgorithm("pof-mkl", options, {2, 100, seed});
    Broadcast broadcast;
    broadcast.model.assign(algorithm->shape().model_size(), 0.1F);
    std::vector<double> state(algorithm->state_size());
    const auto step = algorithm->NewCpuStep();
    step->Predict(broadcast, {std::array<std::uint64_t, 1>{0}, std::array{0.5F, 0.25F},
                              std::array{state.data()}, std::array{0.0}});
    return step->predictions()[0];
  };
  EXPECT_EQ(predict(1, false), predict(1, false));
  EXPECT_NE(predict(1, false), predict(2, false));
  EXPECT_NE(predict(1, false), predict(1, true));
}

}  // namespace
}  // namespace polykern
