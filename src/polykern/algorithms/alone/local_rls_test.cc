#include "polykern/algorithms/alone/local_rls.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/kernels.h"

namespace polykern {
namespace {

using twin::Matrix;
using twin::Step;
using twin::Vector;
using twin::Weighted;

constexpr double kRlsRidge = 0.1;

AlgorithmOptions RlsOptions(Weighting weighting, double forgetting = 1) {
  AlgorithmOptions options = twin::TestOptions();
  options.ridge = kRlsRidge;
  options.weighting = weighting;
  options.forgetting = forgetting;
  return options;
}

std::unique_ptr<Algorithm> Rls(const AlgorithmOptions& options) {
  return NewLocalRls({twin::Bank(), options, twin::kProblem});
}

/// Every client for itself: for each kernel a ridge regression of y - 1/2 that is solved anew for
/// every prediction, and weights by the experts' losses.
class SlowLocalRls {
 public:
  explicit SlowLocalRls(const AlgorithmOptions& options) : options_(options) {}

  Vector operator()(const Step& step) {
    Vector predictions;
    for (std::size_t k = 0; k < twin::kClients; ++k) {
      if (step.present[k] == 0) continue;
      Vector losses;
      Vector f;
      for (std::size_t i = 0; i < twin::kKernels; ++i) {
        const Vector z = twin::FeaturesOf(*bank_, i, step.x[k]);
        auto& samples = samples_[k][i];
        const Vector theta = twin::RidgeSolution(samples, kRlsRidge, twin::kWidth);
        f.push_back(std::clamp(0.5 + twin::Dot(theta, z), 0.0, 1.0));
        losses.push_back((f[i] - step.y[k]) * (f[i] - step.y[k]));
        samples.push_back({z, step.y[k] - 0.5});
      }
      predictions.push_back(twin::Dot(WeightsOf(k), f));
      hedges[k].Learn(losses);
    }
    return predictions;
  }

  Vector WeightsOf(std::size_t client) const {
    if (options_.weighting == Weighting::kAdaHedge) return hedges[client].Weights();
    return twin::WeightsOf(hedges[client].losses, *options_.weight_rate);
  }

  std::vector<twin::SlowAdaHedge> hedges = std::vector<twin::SlowAdaHedge>(twin::kClients);

 private:
  const AlgorithmOptions options_;
  std::shared_ptr<const KernelBank> bank_ = twin::Bank();
  std::vector<std::vector<std::vector<Weighted>>> samples_ =
      std::vector<std::vector<std::vector<Weighted>>>(
          twin::kClients, std::vector<std::vector<Weighted>>(twin::kKernels));
};

TEST(LocalRls, AgreesWithRidgeRegressionsSolvedAnew) {
  for (const Weighting weighting : {Weighting::kAdaHedge, Weighting::kHedge}) {
    const AlgorithmOptions options = RlsOptions(weighting);
    const auto algorithm = Rls(options);
    twin::Federation real(*algorithm);
    SlowLocalRls slow(options);
    twin::ExpectSamePredictions(real, slow, LossKind::kSquared, 1e-4);
    Vector weights(twin::kKernels);
    for (std::size_t k = 0; k < twin::kClients; ++k) {
      ASSERT_TRUE(algorithm->Weights(real.states[k], 0, weights));
      const Vector expected = slow.WeightsOf(k);
      for (std::size_t i = 0; i < twin::kKernels; ++i) {
        EXPECT_NEAR(real.states[k][i], slow.hedges[k].losses[i], 1e-3);
        EXPECT_NEAR(weights[i], expected[i], 1e-3);
      }
    }
    EXPECT_TRUE(real.broadcast().model.empty()) << "nothing is shared";
  }
}

/// What one client predicts does not depend on who else is there.
TEST(LocalRls, LearnsFromNobodyElse) {
  const auto algorithm = Rls(RlsOptions(Weighting::kAdaHedge, 0.99));
  twin::Federation all(*algorithm);
  twin::Federation alone(*algorithm);
  for (Step step : twin::DrawSteps(60)) {
    const bool present = step.present[0] != 0;
    const Vector together = all.Run(step);
    std::ranges::fill(step.present, 0);
    step.present[0] = present ? 1 : 0;
    const Vector by_itself = alone.Run(step);
    if (present) {
      EXPECT_EQ(together.front(), by_itself.front());
    }
  }
  EXPECT_EQ(all.states[0], alone.states[0]);
  EXPECT_NE(all.states[1], alone.states[1]);
}

/// A law that changes half-way: who forgets has the lower error afterwards.
TEST(LocalRls, ForgettingPaysWhenTheLawChanges) {
  const auto error = [](double forgetting) {
    const auto algorithm = Rls(RlsOptions(Weighting::kAdaHedge, forgetting));
    twin::Federation federation(*algorithm);
    double sum = 0;
    for (Step step : twin::DrawSteps(300)) {
      std::ranges::fill(step.present, 1);
      if (step.t >= 150) {
        for (double& y : step.y) y = 1 - y;
      }
      const Vector predictions = federation.Run(step);
      for (std::size_t k = 0; step.t >= 170 && k < twin::kClients; ++k) {
        sum += std::pow(predictions[k] - step.y[k], 2);
      }
    }
    return sum;
  };
  const double never = error(1);
  EXPECT_LT(error(0.97), 0.5 * never);
  EXPECT_LT(error(kAutoForgetting), 0.7 * never) << "experts that differ in what they forget";
}

TEST(LocalRls, ContinuesAsIfLabelsHadBeenNearerToTheMiddle) {
  const auto bank = twin::Bank();
  const auto algorithm = NewLocalRls({bank, RlsOptions(Weighting::kAdaHedge), twin::kEndless});
  twin::Federation wide(*algorithm);
  twin::Federation narrow(*algorithm);
  auto steps = twin::DrawSteps(80);
  // Labels so near to the middle that nothing is ever clipped.
  for (auto& step : steps) {
    for (double& y : step.y) y = 0.5 + (y - 0.5) / 4;
  }
  auto shrunk = steps;
  for (auto& step : shrunk) {
    for (double& y : step.y) y = 0.5 + (y - 0.5) / 4;
  }
  for (std::size_t t = 0; t < 80; ++t) {
    if (t == 40) {
      for (auto& state : wide.states) ScaleLabels(*bank, 0.25, state);
    }
    const auto made = wide.Run(t < 40 ? steps[t] : shrunk[t]);
    const auto expected = narrow.Run(shrunk[t]);
    ASSERT_EQ(made.size(), expected.size());
    // Kernels' predictions are floats: 6e-8 in each, a few times that after the mixture's weights.
    for (std::size_t i = 0; i < made.size(); ++i) {
      EXPECT_NEAR(t < 40 ? 0.5 + (made[i] - 0.5) / 4 : made[i], expected[i], 1e-5) << t;
    }
  }
}

TEST(LocalRls, DescribesItself) {
  const auto algorithm =
      NewLocalRls({twin::Bank(), RlsOptions(Weighting::kAdaHedge), twin::kEndless});
  EXPECT_EQ(algorithm->name(), "local-rls");
  EXPECT_EQ(algorithm->shape().update_size(), 0U);
  EXPECT_EQ(algorithm->experts(), 7U);
  EXPECT_EQ(algorithm->lasting_state(), 8U);
  EXPECT_EQ(algorithm->state_size(), 8U + 7 * (1 + 10 + 100));
  EXPECT_EQ(algorithm->weight_rate(), 0);
}

}  // namespace
}  // namespace polykern
