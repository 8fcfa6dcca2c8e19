#include "polykern/algorithms/paper/ofmkl_avg.h"

#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/kernels.h"

namespace polykern {
namespace {

using twin::Matrix;
using twin::Step;
using twin::Vector;

/// A theta for each kernel, each stepped by everybody, and their plain mean.
class SlowOfmklAvg {
 public:
  explicit SlowOfmklAvg(const AlgorithmOptions& options) : o_(options) {}

  Vector operator()(const Step& step) {
    Vector predictions;
    Matrix change(twin::kKernels, Vector(twin::kWidth));
    const Vector w = Vector(twin::kKernels, 1.0 / twin::kKernels);
    for (std::size_t k = 0; k < twin::kClients; ++k) {
      if (step.present[k] == 0) continue;
      double prediction = 0;
      for (std::size_t i = 0; i < twin::kKernels; ++i) {
        const Vector z = twin::FeaturesOf(*bank_, i, step.x[k]);
        const double f = twin::Dot(theta[i], z);
        prediction += w[i] * f;
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
      for (std::size_t j = 0; j < twin::kWidth; ++j) theta[i][j] -= change[i][j] / clients;
    }
    return predictions;
  }

  Matrix theta = Matrix(twin::kKernels, Vector(twin::kWidth));

 private:
  AlgorithmOptions o_;
  std::shared_ptr<const KernelBank> bank_ = twin::Bank();
};

TEST(OfmklAvg, AgreesWithTheSlowVersion) {
  for (const LossKind loss : twin::kLosses) {
    const AlgorithmOptions options = twin::TestOptions(loss);
    const auto algorithm = NewOfmklAvg({twin::Bank(), options, twin::kProblem});
    twin::Federation real(*algorithm);
    SlowOfmklAvg slow(options);
    twin::ExpectSamePredictions(real, slow, loss);
    for (std::size_t i = 0; i < twin::kKernels; ++i) {
      const auto theta = std::span(real.broadcast().model).subspan(i * twin::kWidth, twin::kWidth);
      EXPECT_LT(twin::RelativeError(theta, slow.theta[i]), 1e-5);
    }
    EXPECT_TRUE(real.broadcast().weights.empty());
  }
}

TEST(OfmklAvg, DescribesItself) {
  const auto algorithm = NewOfmklAvg({twin::Bank(), twin::TestOptions(), twin::kProblem});
  EXPECT_EQ(algorithm->name(), "ofmkl-avg");
  const ModelShape& shape = algorithm->shape();
  EXPECT_EQ(shape.blocks, 7U);
  EXPECT_EQ(shape.width, 10U);
  EXPECT_EQ(shape.blocks_per_update, 7U);
  EXPECT_EQ(shape.losses_per_update, 0U);
  EXPECT_EQ(algorithm->experts(), 7U);
  EXPECT_EQ(algorithm->state_size(), 0U);
  EXPECT_EQ(algorithm->weight_rate(), 0);
}

}  // namespace
}  // namespace polykern
