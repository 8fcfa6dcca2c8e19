#include "polykern/algorithms/paper/vm_kofl.h"

#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/kernels.h"

namespace polykern {
namespace {

using twin::Matrix;
using twin::Step;
using twin::Vector;

/// A theta for each kernel, each stepped by everybody; weights of the server for all clients:
/// W_i *= exp(-eta mean_k L_ik).
class SlowVmKofl {
 public:
  explicit SlowVmKofl(const AlgorithmOptions& options) : o_(options) {}

  Vector operator()(const Step& step) {
    Vector predictions;
    Matrix change(twin::kKernels, Vector(twin::kWidth));
    Vector total_loss(twin::kKernels);
    const Vector w = twin::WeightsOf(losses, *o_.weight_rate);
    for (std::size_t k = 0; k < twin::kClients; ++k) {
      if (step.present[k] == 0) continue;
      double prediction = 0;
      for (std::size_t i = 0; i < twin::kKernels; ++i) {
        const Vector z = twin::FeaturesOf(*bank_, i, step.x[k]);
        const double f = twin::Dot(theta[i], z);
        prediction += w[i] * f;
        total_loss[i] += twin::LossOf(o_.MakeLoss(), f, step.y[k]) +
                         o_.regularization * twin::Dot(theta[i], theta[i]);
        const double slope = twin::SlopeOf(o_.MakeLoss(), f, step.y[k]);
        for (std::size_t j = 0; j < z.size(); ++j) {
          change[i][j] += *o_.learning_rate * (slope * z[j] + 2 * o_.regularization * theta[i][j]);
        }
      }
      predictions.push_back(prediction);
    }
    if (predictions.empty()) return predictions;
    const auto clients = static_cast<double>(predictions.size());
    for (std::size_t i = 0; i < twin::kKernels; ++i) {
      losses[i] += total_loss[i] / clients;
      for (std::size_t j = 0; j < twin::kWidth; ++j) theta[i][j] -= change[i][j] / clients;
    }
    return predictions;
  }

  Matrix theta = Matrix(twin::kKernels, Vector(twin::kWidth));
  Vector losses = Vector(twin::kKernels);

 private:
  AlgorithmOptions o_;
  std::shared_ptr<const KernelBank> bank_ = twin::Bank();
};

TEST(VmKofl, AgreesWithTheSlowVersion) {
  for (const LossKind loss : twin::kLosses) {
    const AlgorithmOptions options = twin::TestOptions(loss);
    const auto algorithm = NewVmKofl({twin::Bank(), options, twin::kProblem});
    twin::Federation real(*algorithm);
    SlowVmKofl slow(options);
    twin::ExpectSamePredictions(real, slow, loss);
    for (std::size_t i = 0; i < twin::kKernels; ++i) {
      const auto theta = std::span(real.broadcast().model).subspan(i * twin::kWidth, twin::kWidth);
      EXPECT_LT(twin::RelativeError(theta, slow.theta[i]), 1e-5);
    }
    const Vector weights = twin::WeightsOf(slow.losses, *options.weight_rate);
    for (std::size_t i = 0; i < twin::kKernels; ++i) {
      EXPECT_NEAR(real.broadcast().weights[i], weights[i], 1e-5);
    }
    EXPECT_GT(*std::ranges::max_element(weights), 1.2 / twin::kKernels) << "still nearly equal";
  }
}

TEST(VmKofl, DescribesItself) {
  const auto algorithm = NewVmKofl({twin::Bank(), twin::TestOptions(), twin::kProblem});
  EXPECT_EQ(algorithm->name(), "vm-kofl");
  const ModelShape& shape = algorithm->shape();
  EXPECT_EQ(shape.blocks, 7U);
  EXPECT_EQ(shape.width, 10U);
  EXPECT_EQ(shape.blocks_per_update, 7U);
  EXPECT_EQ(shape.losses_per_update, 7U);
  EXPECT_EQ(algorithm->experts(), 7U);
  EXPECT_EQ(algorithm->state_size(), 0U);
  EXPECT_EQ(algorithm->weight_rate(), 0);
}

}  // namespace
}  // namespace polykern
