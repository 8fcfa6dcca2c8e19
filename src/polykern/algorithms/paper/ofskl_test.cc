#include "polykern/algorithms/paper/ofskl.h"

#include "polykern/algorithms/shared/twin_testing.h"

namespace polykern {
namespace {

using twin::Matrix;
using twin::Step;
using twin::Vector;

/// One theta for all: theta -= (eta / K) sum_k (slope z + 2 lambda theta).
class SlowOfskl {
 public:
  explicit SlowOfskl(const AlgorithmOptions& options) : o_(options) {}

  Vector operator()(const Step& step) {
    Vector predictions;
    Vector change(theta.size());
    for (std::size_t k = 0; k < twin::kClients; ++k) {
      if (step.present[k] == 0) continue;
      const Vector z = twin::FeaturesOf(*twin::Bank(1), 0, step.x[k]);
      const double f = twin::Dot(theta, z);
      predictions.push_back(f);
      const double slope = twin::SlopeOf(o_.MakeLoss(), f, step.y[k]);
      for (std::size_t j = 0; j < z.size(); ++j) {
        change[j] += *o_.learning_rate * (slope * z[j] + 2 * o_.regularization * theta[j]);
      }
    }
    if (predictions.empty()) return predictions;
    for (std::size_t j = 0; j < theta.size(); ++j) {
      theta[j] -= change[j] / static_cast<double>(predictions.size());
    }
    return predictions;
  }

  Vector theta = Vector(twin::kWidth);

 private:
  AlgorithmOptions o_;
};

TEST(Ofskl, AgreesWithTheSlowVersion) {
  for (const LossKind loss : twin::kLosses) {
    const AlgorithmOptions options = twin::TestOptions(loss);
    const auto algorithm = NewOfskl({twin::Bank(1), options, twin::kProblem});
    twin::Federation real(*algorithm);
    SlowOfskl slow(options);
    twin::ExpectSamePredictions(real, slow, loss);
    EXPECT_LT(twin::RelativeError(real.broadcast().model, slow.theta), 1e-5);
  }
}

TEST(Ofskl, DescribesItself) {
  const auto algorithm = NewOfskl({twin::Bank(1), twin::TestOptions(), twin::kProblem});
  EXPECT_EQ(algorithm->name(), "ofskl");
  const ModelShape& shape = algorithm->shape();
  EXPECT_EQ(shape.blocks, 1U);
  EXPECT_EQ(shape.width, 10U);
  EXPECT_EQ(shape.blocks_per_update, 1U);
  EXPECT_EQ(shape.losses_per_update, 0U);
  EXPECT_EQ(algorithm->experts(), 1U);
  EXPECT_EQ(algorithm->state_size(), 0U);
  EXPECT_EQ(algorithm->weight_rate(), 0);
}

}  // namespace
}  // namespace polykern
