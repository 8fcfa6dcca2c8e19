#include "polykern/algorithms/alone/local.h"

#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/kernels.h"

namespace polykern {
namespace {

using twin::Matrix;
using twin::Step;
using twin::Vector;

/// Every client for itself: theta_i -= eta g_i for every kernel, and weights of its own.
class SlowLocalOnly {
 public:
  explicit SlowLocalOnly(const AlgorithmOptions& options) : o_(options) {}

  Vector operator()(const Step& step) {
    Vector predictions;
    for (std::size_t k = 0; k < twin::kClients; ++k) {
      if (step.present[k] == 0) continue;
      const Vector w = twin::WeightsOf(losses[k], *o_.weight_rate);
      double prediction = 0;
      for (std::size_t i = 0; i < twin::kKernels; ++i) {
        Vector& theta = thetas_[k][i];
        const Vector z = twin::FeaturesOf(*bank_, i, step.x[k]);
        const double f = twin::Dot(theta, z);
        prediction += w[i] * f;
        losses[k][i] +=
            twin::LossOf(o_.MakeLoss(), f, step.y[k]) + o_.regularization * twin::Dot(theta, theta);
        const double slope = twin::SlopeOf(o_.MakeLoss(), f, step.y[k]);
        for (std::size_t j = 0; j < z.size(); ++j) {
          theta[j] -= *o_.learning_rate * (slope * z[j] + 2 * o_.regularization * theta[j]);
        }
      }
      predictions.push_back(prediction);
    }
    return predictions;
  }

  Matrix losses = Matrix(twin::kClients, Vector(twin::kKernels));

 private:
  AlgorithmOptions o_;
  std::shared_ptr<const KernelBank> bank_ = twin::Bank();
  std::vector<Matrix> thetas_ =
      std::vector<Matrix>(twin::kClients, Matrix(twin::kKernels, Vector(twin::kWidth)));
};

TEST(Local, AgreesWithTheSlowVersion) {
  for (const LossKind loss : twin::kLosses) {
    const AlgorithmOptions options = twin::TestOptions(loss);
    const auto algorithm = NewLocal({twin::Bank(), options, twin::kProblem});
    twin::Federation real(*algorithm);
    SlowLocalOnly slow(options);
    twin::ExpectSamePredictions(real, slow, loss);
    for (std::size_t k = 0; k < twin::kClients; ++k) {
      for (std::size_t i = 0; i < twin::kKernels; ++i) {
        EXPECT_NEAR(real.states[k][i], slow.losses[k][i], 1e-4);
      }
    }
    EXPECT_TRUE(real.broadcast().model.empty());
  }
}

TEST(Local, OnlyTheWeightsOutlastNewFeatures) {
  const auto algorithm = NewLocal({twin::Bank(), twin::TestOptions(), twin::kProblem});
  EXPECT_EQ(algorithm->lasting_state(), twin::kKernels);
}

TEST(Local, DescribesItself) {
  const auto algorithm = NewLocal({twin::Bank(), twin::TestOptions(), twin::kProblem});
  EXPECT_EQ(algorithm->name(), "local");
  const ModelShape& shape = algorithm->shape();
  EXPECT_EQ(shape.blocks, 0U);
  EXPECT_EQ(shape.width, 0U);
  EXPECT_EQ(shape.blocks_per_update, 0U);
  EXPECT_EQ(shape.losses_per_update, 0U);
  EXPECT_EQ(algorithm->experts(), 7U);
  EXPECT_EQ(algorithm->state_size(), 77U);
  EXPECT_EQ(algorithm->weight_rate(), 0.6);
}

}  // namespace
}  // namespace polykern
