#include "polykern/algorithms/shared/gradient_bounds.h"

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "polykern/algorithms/broken_rule.h"
#include "polykern/algorithms/registry.h"
#include "polykern/algorithms/shared/twin_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;

constexpr std::string_view kGradientAlgorithms[] = {
    "pof-mkl", "pof-adagrad", "ofskl", "ofmkl-avg", "vm-kofl", "em-kofl", "fomd-oms", "fed-poe"};

std::unique_ptr<Algorithm> MakeGradients(std::string_view name, const AlgorithmOptions& options,
                                         bool unit_labels = true) {
  Problem problem{twin::kDimension, 60, twin::kSeed};
  problem.unit_labels = unit_labels;
  return MakeAlgorithm(name, options, problem);
}

/// What a client sends that has learnt one label with this model.
Updates AnswerOf(const Algorithm& algorithm, const Broadcast& broadcast, std::span<const float> x,
                 double y) {
  const std::uint64_t ids[] = {0};
  std::vector<double> state(algorithm.state_size());
  double* const states[] = {state.data()};
  const auto step = algorithm.NewCpuStep();
  step->Predict(broadcast, {ids, x, states, {}});
  return step->Learn(std::array{y});
}

bool PassesBounds(const Algorithm& algorithm, const Updates& updates, const Broadcast& broadcast) {
  try {
    algorithm.CheckContents(updates, broadcast);
    return true;
  } catch (const BrokenRule& broken) {
    EXPECT_TRUE(broken.rule == Rule::kNorm || broken.rule == Rule::kLosses);
    return false;
  }
}

/// Labels that fight each other, rates of all sizes: the model goes wherever honest clients take
/// it, and the twin's federation throws if one of them is refused.
TEST(GradientBounds, RefuseNoHonestUpdateWhateverLabelsAndRates) {
  Random random(8, Purpose::kTest);
  for (const std::string_view name : kGradientAlgorithms) {
    for (const LossKind loss : twin::kLosses) {
      for (int n = 0; n < 6; ++n) {
        AlgorithmOptions options = twin::TestOptions(loss);
        options.learning_rate = std::pow(10, -3 + 3.3 * random.Uniform());
        options.regularization = n % 2 == 0 ? 0 : 0.2 * random.Uniform();
        options.kernels_per_upload = 1 + random.Below(twin::kKernels);
        options.exploration = 0.05 + 0.95 * random.Uniform();
        const auto algorithm = MakeGradients(name, options);
        twin::Federation federation(*algorithm);
        for (twin::Step step : twin::DrawSteps(80, loss)) {
          for (double& y : step.y) y = random.Uniform() < 0.5 ? 0 : 1;
          try {
            federation.Run(step);
          } catch (const BrokenRule& broken) {
            ASSERT_EQ(broken.rule, Rule::kNumbers) << name << ": " << broken.what();
            break;  // the run diverges: above 512
          }
        }
      }
    }
  }
}

TEST(GradientBounds, AreReachedByTheWorstLabelAndNotPassed) {
  AlgorithmOptions options = twin::TestOptions();
  options.regularization = 0;
  options.kernels_per_upload = twin::kKernels;  // so p = 1
  const auto algorithm = MakeGradients("pof-mkl", options);
  // At x = 0 all sines are 0 and all cosines 1: theta along z predicts -norm.
  Broadcast broadcast{.step = 3, .model = std::vector<float>(algorithm->shape().model_size())};
  const std::size_t width = algorithm->shape().width;
  const auto of_cosine = static_cast<float>(-7 / std::sqrt(static_cast<double>(width / 2)));
  for (std::size_t i = 0; i < broadcast.model.size(); ++i) {
    broadcast.model[i] = i % width < width / 2 ? 0 : of_cosine;
  }
  const std::vector<float> x(twin::kDimension, 0);
  Updates worst = AnswerOf(*algorithm, broadcast, x, 1);
  double norm = 0;
  for (std::size_t j = 0; j < width; ++j) norm += std::pow(worst.values[j], 2);
  EXPECT_NEAR(std::sqrt(norm), *options.learning_rate * 2 * 8, 1e-5);
  EXPECT_TRUE(PassesBounds(*algorithm, worst, broadcast));
  for (float& value : worst.values) value *= 1.002F;
  EXPECT_FALSE(PassesBounds(*algorithm, worst, broadcast));
}

TEST(GradientBounds, RefuseWhatRuinsAModel) {
  for (const std::string_view name : kGradientAlgorithms) {
    const auto algorithm = MakeGradients(name, twin::TestOptions());
    const auto server = algorithm->NewServer();
    const std::vector<float> x(twin::kDimension, 0.5F);
    Updates bad = AnswerOf(*algorithm, server->broadcast(), x, 0.5);
    EXPECT_TRUE(PassesBounds(*algorithm, bad, server->broadcast())) << name;
    for (float& value : bad.values) value = 512;
    EXPECT_NO_THROW(CheckUpdates(algorithm->shape(), bad));
    EXPECT_FALSE(PassesBounds(*algorithm, bad, server->broadcast())) << name;
    if (algorithm->shape().losses_per_update == 0) continue;
    bad = AnswerOf(*algorithm, server->broadcast(), x, 0.5);
    bad.losses.back() = 400;
    EXPECT_FALSE(PassesBounds(*algorithm, bad, server->broadcast())) << name;
  }
}

TEST(GradientBounds, KnowNothingOfLabelsWithoutARange) {
  for (const std::string_view name : kGradientAlgorithms) {
    const auto algorithm = MakeGradients(name, twin::TestOptions(), false);
    const auto server = algorithm->NewServer();
    const std::vector<float> x(twin::kDimension, 0.5F);
    Broadcast broadcast = server->broadcast();
    EXPECT_TRUE(PassesBounds(*algorithm, AnswerOf(*algorithm, broadcast, x, 400), broadcast))
        << name;
    broadcast.model.assign(broadcast.model.size(), 1e6F);
    EXPECT_EQ(algorithm->TroubleOf(broadcast), "");
  }
}

TEST(GradientBounds, SayWhenAModelHasLeftAllBounds) {
  for (const std::string_view name : kGradientAlgorithms) {
    const auto algorithm = MakeGradients(name, twin::TestOptions());
    Broadcast broadcast = algorithm->NewServer()->broadcast();
    EXPECT_EQ(algorithm->TroubleOf(broadcast), "");
    broadcast.model.back() = 511;
    EXPECT_EQ(algorithm->TroubleOf(broadcast), "");
    broadcast.model.back() = -513;
    const std::size_t last = algorithm->shape().blocks - 1;
    EXPECT_THAT(algorithm->TroubleOf(broadcast),
                HasSubstr("kernel " + std::to_string(last) + " has the norm 513"));
    broadcast.model.back() = std::nanf("");
    EXPECT_NE(algorithm->TroubleOf(broadcast), "");
  }
}

}  // namespace
}  // namespace polykern
