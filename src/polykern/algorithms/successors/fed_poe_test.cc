#include "polykern/algorithms/successors/fed_poe.h"

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/shared/twin_testing.h"

namespace polykern {
namespace {

using twin::Matrix;
using twin::Step;
using twin::Vector;

constexpr std::size_t kThree = 3;

/// A model of one theta_i for each kernel, and weights of the kernels.
struct SlowModel {
  Matrix theta = Matrix(kThree, Vector(twin::kWidth));
  Vector losses = Vector(kThree);
};

/// A shared theta and a private one for each client, two mixtures of kernels, and one of the two.
class SlowFedPoe {
 public:
  explicit SlowFedPoe(const AlgorithmOptions& options) : o_(options) {}

  Vector operator()(const Step& step) {
    Vector predictions;
    Matrix change(kThree, Vector(twin::kWidth));
    for (std::size_t k = 0; k < twin::kClients; ++k) {
      if (step.present[k] == 0) continue;
      Matrix own_change(kThree, Vector(twin::kWidth));
      const double federated = Learn(step, k, theta, losses[k], change);
      const double local = Learn(step, k, own[k].theta, own[k].losses, own_change);
      Subtract(own_change, 1, own[k].theta);
      const Vector shares = twin::WeightsOf(mixture_losses[k], *o_.weight_rate);
      predictions.push_back(shares[0] * federated + shares[1] * local);
      mixture_losses[k][0] += twin::LossOf(o_.MakeLoss(), federated, step.y[k]);
      mixture_losses[k][1] += twin::LossOf(o_.MakeLoss(), local, step.y[k]);
    }
    if (!predictions.empty()) Subtract(change, predictions.size(), theta);
    return predictions;
  }

  Matrix theta = Matrix(kThree, Vector(twin::kWidth));
  Matrix losses = Matrix(twin::kClients, Vector(kThree));
  Matrix mixture_losses = Matrix(twin::kClients, Vector(2));
  std::vector<SlowModel> own = std::vector<SlowModel>(twin::kClients);

 private:
  /// What a model's kernels predict together; adds their losses and eta g_i.
  double Learn(const Step& step, std::size_t k, const Matrix& model, Vector& sums,
               Matrix& to) const {
    const Vector w = twin::WeightsOf(sums, *o_.weight_rate);
    double prediction = 0;
    for (std::size_t i = 0; i < kThree; ++i) {
      const Vector z = twin::FeaturesOf(*twin::Bank(kThree), i, step.x[k]);
      const double f = twin::Dot(model[i], z);
      prediction += w[i] * f;
      sums[i] += twin::LossOf(o_.MakeLoss(), f, step.y[k]) +
                 o_.regularization * twin::Dot(model[i], model[i]);
      const double slope = twin::SlopeOf(o_.MakeLoss(), f, step.y[k]);
      for (std::size_t j = 0; j < z.size(); ++j) {
        to[i][j] += *o_.learning_rate * (slope * z[j] + 2 * o_.regularization * model[i][j]);
      }
    }
    return prediction;
  }
  static void Subtract(const Matrix& sum, std::size_t count, Matrix& from) {
    for (std::size_t i = 0; i < kThree; ++i) {
      for (std::size_t j = 0; j < from[i].size(); ++j) {
        from[i][j] -= sum[i][j] / static_cast<double>(count);
      }
    }
  }

  AlgorithmOptions o_;
};

std::unique_ptr<Algorithm> NewOfThree(const AlgorithmOptions& options = twin::TestOptions()) {
  return NewFedPoe({twin::Bank(kThree), options, twin::kProblem});
}

TEST(FedPoe, AgreesWithTheSlowVersion) {
  for (const LossKind loss : twin::kLosses) {
    const AlgorithmOptions options = twin::TestOptions(loss);
    const auto algorithm = NewOfThree(options);
    twin::Federation real(*algorithm);
    SlowFedPoe slow(options);
    twin::ExpectSamePredictions(real, slow, loss);
    for (std::size_t i = 0; i < kThree; ++i) {
      const auto theta = MatrixRow(real.broadcast().model, i, twin::kWidth);
      EXPECT_LT(twin::RelativeError(theta, slow.theta[i]), 1e-5);
    }
    for (std::size_t k = 0; k < twin::kClients; ++k) {
      Vector expected = slow.losses[k];
      for (const Vector* part : {&slow.mixture_losses[k], &slow.own[k].losses}) {
        expected.insert(expected.end(), part->begin(), part->end());
      }
      for (const Vector& theta : slow.own[k].theta) {
        expected.insert(expected.end(), theta.begin(), theta.end());
      }
      ASSERT_EQ(real.states[k].size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(real.states[k][i], expected[i], 1e-4);
      }
    }
  }
}

TEST(FedPoe, PredictsByTheWeightsThatItTells) {
  const auto algorithm = NewOfThree();
  twin::Federation federation(*algorithm);
  for (const Step& step : twin::DrawSteps(60)) federation.Run(step);
  const auto step = algorithm->NewCpuStep();
  const std::vector<std::uint64_t> ids = {0, 1};
  const std::vector<float> x = {0.1F, 0.9F, 0.3F, 0.7F, 0.2F, 0.5F};
  const std::vector<double*> states = {federation.states[0].data(), federation.states[1].data()};
  step->Predict(federation.broadcast(), {ids, x, states, {}});
  ASSERT_EQ(step->kernel_predictions().size(), 2 * algorithm->experts());
  for (std::size_t c = 0; c < ids.size(); ++c) {
    Vector weights(algorithm->experts());
    ASSERT_TRUE(algorithm->Weights(federation.states[c], 60, weights));
    const auto f = step->kernel_predictions().subspan(c * weights.size(), weights.size());
    EXPECT_NEAR(step->predictions()[c], twin::Dot(weights, Vector(f.begin(), f.end())), 1e-12);
  }
}

TEST(FedPoe, OnlyTheWeightsOutlastNewFeatures) {
  EXPECT_EQ(NewOfThree()->lasting_state(), 3U + 2U + 3U);
}

TEST(FedPoe, DescribesItself) {
  const auto algorithm = NewOfThree();
  EXPECT_EQ(algorithm->name(), "fed-poe");
  const ModelShape& shape = algorithm->shape();
  EXPECT_EQ(shape.blocks, 3U);
  EXPECT_EQ(shape.width, 10U);
  EXPECT_EQ(shape.blocks_per_update, 3U);
  EXPECT_EQ(shape.losses_per_update, 0U);
  EXPECT_EQ(algorithm->experts(), 6U);
  EXPECT_EQ(algorithm->state_size(), 3U + 2U + 3U + 30U);
  EXPECT_EQ(algorithm->weight_rate(), 0.6);
}

}  // namespace
}  // namespace polykern
