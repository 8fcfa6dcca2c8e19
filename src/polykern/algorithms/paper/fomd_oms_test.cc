#include "polykern/algorithms/paper/fomd_oms.h"

#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/kernels.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

using twin::Matrix;
using twin::Step;
using twin::Vector;

/// Two kernels for each client and step, I from p and J from the rest; importance weights 1 / P.
class SlowFomdOms {
 public:
  explicit SlowFomdOms(const AlgorithmOptions& options) : o_(options) {}

  Vector operator()(const Step& step) {
    constexpr double kN = twin::kKernels;
    Vector predictions;
    Matrix change(twin::kKernels, Vector(twin::kWidth));
    Vector c(twin::kKernels);
    const Vector p = twin::WeightsOf(losses, *o_.weight_rate);
    for (std::size_t k = 0; k < twin::kClients; ++k) {
      if (step.present[k] == 0) continue;
      for (const std::size_t i : Pair(p, Random(twin::kSeed, Purpose::kOwnKernels, k, step.t))) {
        const double held = (kN - 2) / (kN - 1) * p[i] + 1 / (kN - 1);
        const Vector z = twin::FeaturesOf(*bank_, i, step.x[k]);
        const double f = twin::Dot(theta[i], z);
        if (predictions.size() == counted_) predictions.push_back(f);  // I comes first
        c[i] += (twin::LossOf(o_.MakeLoss(), f, step.y[k]) +
                 o_.regularization * twin::Dot(theta[i], theta[i])) /
                held;
        const double slope = twin::SlopeOf(o_.MakeLoss(), f, step.y[k]);
        for (std::size_t j = 0; j < z.size(); ++j) {
          change[i][j] +=
              *o_.learning_rate / held * (slope * z[j] + 2 * o_.regularization * theta[i][j]);
        }
      }
      counted_ = predictions.size();
    }
    counted_ = 0;
    if (predictions.empty()) return predictions;
    const auto clients = static_cast<double>(predictions.size());
    for (std::size_t i = 0; i < twin::kKernels; ++i) {
      losses[i] += c[i] / clients;
      for (std::size_t j = 0; j < twin::kWidth; ++j) theta[i][j] -= change[i][j] / clients;
      const double norm = std::sqrt(twin::Dot(theta[i], theta[i]));
      if (norm <= o_.projection_radius) continue;
      ++projected;
      for (double& value : theta[i]) value *= o_.projection_radius / norm;
    }
    return predictions;
  }

  Matrix theta = Matrix(twin::kKernels, Vector(twin::kWidth));
  Vector losses = Vector(twin::kKernels);
  int projected = 0;

 private:
  /// All pairs in a row, (0,1) (0,2) .. (1,0) (1,2) ..: the one the draw falls on.
  static std::vector<std::size_t> Pair(const Vector& p, Random random) {
    const double uniform = random.Uniform();
    double cumulative = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      for (std::size_t j = 0; j < p.size(); ++j) {
        if (i == j) continue;
        cumulative += p[i] / static_cast<double>(p.size() - 1);
        if (cumulative > uniform) return {i, j};
      }
    }
    return {p.size() - 1, p.size() - 2};
  }

  AlgorithmOptions o_;
  std::shared_ptr<const KernelBank> bank_ = twin::Bank();
  std::size_t counted_ = 0;
};

TEST(FomdOms, AgreesWithTheSlowVersion) {
  for (const LossKind loss : twin::kLosses) {
    AlgorithmOptions options = twin::TestOptions(loss);
    options.learning_rate = 0.05;
    // A weight that is too large makes P large and so the next loss small: a large rate would blow
    // the rounding of floats up.
    options.weight_rate = 0.1;
    options.projection_radius = 0.5;
    const auto algorithm = NewFomdOms({twin::Bank(), options, twin::kProblem});
    twin::Federation real(*algorithm);
    SlowFomdOms slow(options);
    twin::ExpectSamePredictions(real, slow, loss);
    EXPECT_GT(slow.projected, 0) << "the projection was not tried";
    const Vector weights = twin::WeightsOf(slow.losses, *options.weight_rate);
    for (std::size_t i = 0; i < twin::kKernels; ++i) {
      const auto theta = std::span(real.broadcast().model).subspan(i * twin::kWidth, twin::kWidth);
      EXPECT_LT(twin::RelativeError(theta, slow.theta[i]), 1e-5);
      EXPECT_NEAR(real.broadcast().weights[i], weights[i], 1e-5);
    }
  }
}

TEST(FomdOms, HoldsEachKernelAsOftenAsItsWeightSays) {
  // The pair is a function of one uniform number: a fine grid of them gives the law itself.
  const auto algorithm = NewFomdOms({twin::Bank(3), twin::TestOptions(), twin::kProblem});
  Broadcast broadcast;
  broadcast.model.assign(3 * twin::kWidth, 0.1F);
  broadcast.weights = {0.5, 0.2, 0.3};
  constexpr std::size_t kDraws = 10000;
  std::vector<std::uint64_t> clients(kDraws);
  std::vector<double*> states(kDraws);
  Vector uniforms;
  for (std::size_t d = 0; d < kDraws; ++d) {
    uniforms.push_back((static_cast<double>(d) + 0.5) / kDraws);
  }
  const std::vector<float> x(kDraws * twin::kDimension, 0.5F);
  const auto step = algorithm->NewCpuStep();
  step->Predict(broadcast, {clients, x, states, uniforms});
  const Updates& updates = step->Learn(Vector(kDraws));
  Matrix share(3, Vector(3));
  for (std::size_t d = 0; d < kDraws; ++d) {
    share[updates.blocks[2 * d]][updates.blocks[2 * d + 1]] += 1.0 / kDraws;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_NEAR(share[i][j], i == j ? 0 : broadcast.weights[i] / 2, 2.0 / kDraws);
    }
  }
}

TEST(FomdOms, DescribesItself) {
  const auto algorithm = NewFomdOms({twin::Bank(), twin::TestOptions(), twin::kProblem});
  EXPECT_EQ(algorithm->name(), "fomd-oms");
  const ModelShape& shape = algorithm->shape();
  EXPECT_EQ(shape.blocks, 7U);
  EXPECT_EQ(shape.width, 10U);
  EXPECT_EQ(shape.blocks_per_update, 2U);
  EXPECT_EQ(shape.losses_per_update, 2U);
  EXPECT_EQ(algorithm->experts(), 0U);
  EXPECT_EQ(algorithm->state_size(), 0U);
  EXPECT_EQ(algorithm->weight_rate(), 0);
}

}  // namespace
}  // namespace polykern
