#include "polykern/algorithms/paper/em_kofl.h"

#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/kernels.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

using twin::Matrix;
using twin::Step;
using twin::Vector;

/// A theta for each client and kernel; in each step one kernel for all, which the server averages.
class SlowEmKofl {
 public:
  explicit SlowEmKofl(const AlgorithmOptions& options) : o_(options) {}

  Vector operator()(const Step& step) {
    // The average of the step before, to those that made it and are here again.
    for (std::size_t k = 0; k < twin::kClients; ++k) {
      if (step.present[k] != 0 && helped_[k] != 0) thetas[k][averaged_] = average_;
    }
    const double uniform = Random(twin::kSeed, Purpose::kSharedKernel, 0, step.t).Uniform();
    const std::size_t drawn = twin::Draw(twin::WeightsOf(losses, *o_.weight_rate), uniform);
    drawn_before.push_back(drawn);
    Vector predictions;
    Vector sum(twin::kWidth);
    for (std::size_t k = 0; k < twin::kClients; ++k) {
      if (step.present[k] == 0) continue;
      for (std::size_t i = 0; i < twin::kKernels; ++i) {
        Vector& theta = thetas[k][i];
        const Vector z = twin::FeaturesOf(*bank_, i, step.x[k]);
        const double f = twin::Dot(theta, z);
        if (i == drawn) predictions.push_back(f);
        losses[i] +=
            twin::LossOf(o_.MakeLoss(), f, step.y[k]) + o_.regularization * twin::Dot(theta, theta);
        const double slope = twin::SlopeOf(o_.MakeLoss(), f, step.y[k]);
        for (std::size_t j = 0; j < z.size(); ++j) {
          theta[j] = (1 - 2 * o_.regularization) * theta[j] - *o_.learning_rate * slope * z[j];
          if (i == drawn) sum[j] += theta[j];
        }
      }
    }
    for (double& value : sum) value /= static_cast<double>(predictions.size());
    helped_ = step.present;
    averaged_ = drawn;
    average_ = sum;
    return predictions;
  }

  std::vector<Matrix> thetas =
      std::vector<Matrix>(twin::kClients, Matrix(twin::kKernels, Vector(twin::kWidth)));
  Vector losses = Vector(twin::kKernels);
  std::vector<std::size_t> drawn_before;

 private:
  AlgorithmOptions o_;
  std::shared_ptr<const KernelBank> bank_ = twin::Bank();
  std::vector<std::uint8_t> helped_ = std::vector<std::uint8_t>(twin::kClients);
  std::size_t averaged_ = 0;
  Vector average_;
};

TEST(EmKofl, AgreesWithTheSlowVersion) {
  for (const LossKind loss : twin::kLosses) {
    AlgorithmOptions options = twin::TestOptions(loss);
    options.weight_rate = 0.02;  // of sums over clients: several kernels stay in play
    const auto algorithm = NewEmKofl({twin::Bank(), options, twin::kProblem});
    twin::Federation real(*algorithm);
    SlowEmKofl slow(options);
    twin::ExpectSamePredictions(real, slow, loss);
    for (std::size_t k = 0; k < twin::kClients; ++k) {
      for (std::size_t i = 0; i < twin::kKernels; ++i) {
        const std::vector<float> theta(real.states[k].begin() + 2 + i * twin::kWidth,
                                       real.states[k].begin() + 2 + (i + 1) * twin::kWidth);
        EXPECT_LT(twin::RelativeError(theta, slow.thetas[k][i]), 1e-5);
      }
    }
    std::ranges::sort(slow.drawn_before);
    const auto repeated = std::ranges::unique(slow.drawn_before);
    EXPECT_GT(slow.drawn_before.size() - repeated.size(), 3U) << "too few kernels were ever drawn";
  }
}

TEST(EmKofl, AClientThatMissedAStepKeepsItsOwnTheta) {
  const auto algorithm = NewEmKofl({twin::Bank(), twin::TestOptions(), twin::kProblem});
  twin::Federation real(*algorithm);
  auto steps = twin::DrawSteps(4);
  for (auto& step : steps) step.present.assign(twin::kClients, 1);
  steps[2].present[5] = 0;
  real.Run(steps[0]);
  real.Run(steps[1]);
  const Vector own = real.states[5];
  real.Run(steps[2]);
  EXPECT_EQ(real.states[5], own);
  // In step 3 client 5 predicts with its own theta, whatever the average of step 2 is.
  const std::size_t drawn =
      twin::Draw({real.broadcast().weights.begin(), real.broadcast().weights.end()},
                 Random(twin::kSeed, Purpose::kSharedKernel, 0, 3).Uniform());
  const Vector theta(own.begin() + 2 + drawn * twin::kWidth,
                     own.begin() + 2 + (drawn + 1) * twin::kWidth);
  const Vector z = twin::FeaturesOf(*twin::Bank(), drawn, steps[3].x[5]);
  EXPECT_NEAR(real.Run(steps[3]).back(), twin::Dot(theta, z), 1e-6);
}

TEST(EmKofl, NothingOutlastsNewFeatures) {
  const auto algorithm = NewEmKofl({twin::Bank(), twin::TestOptions(), twin::kProblem});
  EXPECT_EQ(algorithm->lasting_state(), 0U);
}

TEST(EmKofl, DescribesItself) {
  const auto algorithm = NewEmKofl({twin::Bank(), twin::TestOptions(), twin::kProblem});
  EXPECT_EQ(algorithm->name(), "em-kofl");
  const ModelShape& shape = algorithm->shape();
  EXPECT_EQ(shape.blocks, 1U);
  EXPECT_EQ(shape.width, 10U);
  EXPECT_EQ(shape.blocks_per_update, 1U);
  EXPECT_EQ(shape.losses_per_update, 7U);
  EXPECT_EQ(algorithm->experts(), 7U);
  EXPECT_EQ(algorithm->state_size(), 72U);
  EXPECT_EQ(algorithm->weight_rate(), 0);
}

}  // namespace
}  // namespace polykern
