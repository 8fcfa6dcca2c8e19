#include "polykern/algorithms/successors/pof_adagrad.h"

#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/kernels.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using twin::Matrix;
using twin::Step;
using twin::Vector;

/// Kernels by private weights, M of them sent, and AdaGrad on the mean gradient.
class SlowPofAdagrad {
 public:
  explicit SlowPofAdagrad(const AlgorithmOptions& options) : o_(options) {}

  Vector operator()(const Step& step) {
    Vector predictions;
    Matrix gradient(twin::kKernels, Vector(twin::kWidth));
    for (std::size_t k = 0; k < twin::kClients; ++k) {
      if (step.present[k] == 0) continue;
      Matrix z;
      Vector f;
      Vector losses;
      for (std::size_t i = 0; i < twin::kKernels; ++i) {
        z.push_back(twin::FeaturesOf(*bank_, i, step.x[k]));
        f.push_back(twin::Dot(theta[i], z[i]));
        losses.push_back(twin::LossOf(o_.MakeLoss(), f[i], step.y[k]) +
                         o_.regularization * twin::Dot(theta[i], theta[i]));
      }
      const Vector w = clients[k].Weights();
      predictions.push_back(twin::Dot(w, f));
      double p = 0;
      const double uniform = Random(twin::kSeed, Purpose::kSubset, k, step.t).Uniform();
      for (const std::size_t i : twin::Choose(o_, clients[k].losses, w, uniform, p)) {
        const double slope = twin::SlopeOf(o_.MakeLoss(), f[i], step.y[k]);
        for (std::size_t j = 0; j < twin::kWidth; ++j) {
          gradient[i][j] += (slope * z[i][j] + 2 * o_.regularization * theta[i][j]) / p;
        }
      }
      clients[k].Learn(losses);
    }
    for (std::size_t i = 0; i < twin::kKernels; ++i) {
      for (std::size_t j = 0; j < twin::kWidth; ++j) {
        if (gradient[i][j] == 0) continue;
        const double mean = gradient[i][j] / static_cast<double>(predictions.size());
        squares_[i][j] += mean * mean;
        theta[i][j] -=
            *o_.learning_rate / std::sqrt(double{twin::kWidth}) * mean / std::sqrt(squares_[i][j]);
      }
    }
    return predictions;
  }

  Matrix theta = Matrix(twin::kKernels, Vector(twin::kWidth));
  std::vector<twin::SlowAdaHedge> clients = std::vector<twin::SlowAdaHedge>(twin::kClients);

 private:
  AlgorithmOptions o_;
  std::shared_ptr<const KernelBank> bank_ = twin::Bank();
  Matrix squares_ = Matrix(twin::kKernels, Vector(twin::kWidth));
};

TEST(PofAdagrad, AgreesWithTheSlowVersion) {
  // Floats are good to 6e-8, but AdaHedge begins with a rate of ln 7 / gap, in the thousands while
  // the gap is still about 0.001, and multiplies the rounding of the losses by it.
  constexpr double kTolerance = 1e-4;
  for (const LossKind loss : twin::kLosses) {
    AlgorithmOptions options = twin::TestOptions(loss);
    options.kernels_per_upload = 3;
    options.exploration = 0.4;
    const auto algorithm = NewPofAdagrad({twin::Bank(), options, twin::kEndless});
    twin::Federation real(*algorithm);
    SlowPofAdagrad slow(options);
    twin::ExpectSamePredictions(real, slow, loss, kTolerance);
    for (std::size_t i = 0; i < twin::kKernels; ++i) {
      const auto theta = std::span(real.broadcast().model).subspan(i * twin::kWidth, twin::kWidth);
      EXPECT_LT(twin::RelativeError(theta, slow.theta[i]), kTolerance);
    }
    for (std::size_t k = 0; k < twin::kClients; ++k) {
      for (std::size_t i = 0; i < twin::kKernels; ++i) {
        EXPECT_NEAR(real.states[k][i], slow.clients[k].losses[i], kTolerance);
      }
      EXPECT_NEAR(real.states[k][twin::kKernels], slow.clients[k].gap, kTolerance);
      EXPECT_GT(slow.clients[k].gap, 0);
    }
  }
}

TEST(PofAdagrad, ServerDividesEachNumberByTheRootOfItsSquares) {
  // One kernel of two features: c / sqrt(4) = 0.5. A second kernel is never sent.
  AlgorithmOptions options;
  options.kernels = 2;
  const auto bank = std::make_shared<const KernelBank>(std::vector<float>(4), 2, 2, 1);
  const auto algorithm = NewPofAdagrad({bank, options, {1, 0, 0}});
  const auto server = algorithm->NewServer();
  std::vector<std::unique_ptr<Inbox>> inboxes;
  inboxes.push_back(server->NewInbox());
  Updates update;
  update.clients = {0};
  update.first = {0, 1};
  update.blocks = {0};
  update.values = {6, -8, 0, 1};
  inboxes[0]->Add(update);
  server->Commit(inboxes, 2);  // the means are 3, -4, 0, 1/2
  EXPECT_THAT(server->broadcast().model, ElementsAre(-0.5, 0.5, 0, -0.5, 0, 0, 0, 0));
  update.values = {4, 3, -7, 0};
  inboxes[0]->Add(update);
  server->Commit(inboxes, 1);  // roots 5, 5, 7
  EXPECT_THAT(server->broadcast().model,
              ElementsAre(testing::FloatEq(-0.9F), testing::FloatEq(0.2F), 0.5, -0.5, 0, 0, 0, 0));
  const Vector saved = server->Save();
  EXPECT_THAT(Vector(saved.begin() + 8, saved.end()), ElementsAre(25, 25, 49, 0.25, 0, 0, 0, 0));
}

TEST(PofAdagrad, DescribesItself) {
  AlgorithmOptions options = twin::TestOptions();
  options.kernels_per_upload = 3;
  const auto algorithm = NewPofAdagrad({twin::Bank(), options, twin::kEndless});
  EXPECT_EQ(algorithm->name(), "pof-adagrad");
  const ModelShape& shape = algorithm->shape();
  EXPECT_EQ(shape.blocks, 7U);
  EXPECT_EQ(shape.width, 10U);
  EXPECT_EQ(shape.blocks_per_update, 3U);
  EXPECT_EQ(shape.losses_per_update, 0U);
  EXPECT_EQ(algorithm->experts(), 7U);
  EXPECT_EQ(algorithm->state_size(), 8U);
  EXPECT_EQ(algorithm->lasting_state(), 8U);
  EXPECT_EQ(algorithm->weight_rate(), 0);
}

}  // namespace
}  // namespace polykern
