#include "polykern/algorithms/successors/pof_newton.h"

#include <cmath>
#include <string>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/registry.h"
#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/kernels.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

using twin::Matrix;
using twin::Step;
using twin::Vector;
using twin::Weighted;

constexpr std::size_t kLocalKernels = 3;

/// Bandwidths far apart, features and a seed of their own.
std::shared_ptr<const KernelBank> LocalBank() {
  return std::make_shared<const KernelBank>(MakeDictionary("gaussian", kLocalKernels),
                                            twin::kDimension, 4, twin::kSeed + 1);
}

AlgorithmOptions Options() {
  AlgorithmOptions options;
  options.refresh = 0;
  options.kernels = twin::kKernels;
  options.features = twin::kFeatures;
  options.kernels_per_upload = 3;
  options.exploration = 0.4;
  options.ridge = 0.01;
  return options;
}

double Clip(double value) {
  return std::min(1.0, std::max(0.0, value));
}

/// A client's private regressions of what a base leaves over, each solved anew from all its
/// samples.
class SlowLocal {
 public:
  /// listen: it corrects nothing before it has as many samples as parameters.
  SlowLocal(std::shared_ptr<const KernelBank> bank, double ridge, bool listen)
      : bank_(std::move(bank)), ridge_(ridge), listen_(listen), samples_(bank_->kernels()) {}

  Vector Predict(double base, const Vector& x) const {
    Vector f;
    for (std::size_t i = 0; i < bank_->kernels(); ++i) {
      const Vector z = twin::FeaturesOf(*bank_, i, x);
      const bool speaks = !listen_ || samples_[i].size() >= z.size();
      f.push_back(Clip(
          base + (speaks ? twin::Dot(twin::RidgeSolution(samples_[i], ridge_, z.size()), z) : 0)));
    }
    return f;
  }
  void Learn(double base, const Vector& x, double y) {
    for (std::size_t i = 0; i < bank_->kernels(); ++i) {
      samples_[i].push_back({twin::FeaturesOf(*bank_, i, x), y - base});
    }
  }

 private:
  std::shared_ptr<const KernelBank> bank_;
  double ridge_;
  bool listen_;
  std::vector<std::vector<Weighted>> samples_;
};

Vector LossesOf(const Vector& f, double y) {
  Vector losses;
  for (const double value : f) losses.push_back((value - y) * (value - y));
  return losses;
}

/// Clipped kernels under AdaHedge, M of them sent, a batch regression for each of all samples that
/// the server ever got; if asked for, private experts on top under an AdaHedge of their own.
class SlowPofNewton {
 public:
  SlowPofNewton(const AlgorithmOptions& options, bool local)
      : o_(options),
        local_(local ? twin::kClients : 0, SlowLocal(LocalBank(), options.ridge, true)) {}

  Vector operator()(const Step& step) {
    Vector predictions;
    for (auto& samples : samples_) {
      for (Weighted& sample : samples) sample.weight *= o_.forgetting;
    }
    std::vector<std::vector<Weighted>> sent(twin::kKernels);
    for (std::size_t k = 0; k < twin::kClients; ++k) {
      if (step.present[k] == 0) continue;
      Matrix z;
      Vector f;
      for (std::size_t i = 0; i < twin::kKernels; ++i) {
        z.push_back(twin::FeaturesOf(*bank_, i, step.x[k]));
        f.push_back(Clip(0.5 + twin::Dot(theta[i], z[i])));
      }
      const Vector w = clients[k].Weights();
      const double base = twin::Dot(w, f);
      predictions.push_back(local_.empty() ? base : GoOnLocally(k, base, step));
      double p = 0;
      const double uniform = Random(twin::kSeed, Purpose::kSubset, k, step.t).Uniform();
      for (const std::size_t i : twin::Choose(o_, clients[k].losses, w, uniform, p)) {
        sent[i].push_back({z[i], step.y[k] - 0.5});
      }
      clients[k].Learn(LossesOf(f, step.y[k]));
    }
    for (std::size_t i = 0; i < twin::kKernels; ++i) {
      if (sent[i].empty()) continue;
      samples_[i].insert(samples_[i].end(), sent[i].begin(), sent[i].end());
      theta[i] = twin::RidgeSolution(samples_[i], o_.ridge, twin::kWidth);
    }
    return predictions;
  }

  Matrix theta = Matrix(twin::kKernels, Vector(twin::kWidth));
  std::vector<twin::SlowAdaHedge> clients = std::vector<twin::SlowAdaHedge>(twin::kClients);
  std::vector<twin::SlowAdaHedge> outer =
      std::vector<twin::SlowAdaHedge>(twin::kClients, twin::SlowAdaHedge(kLocalKernels + 1));

 private:
  double GoOnLocally(std::size_t k, double base, const Step& step) {
    Vector f = local_[k].Predict(base, step.x[k]);
    f.insert(f.begin(), base);
    const double mixed = twin::Dot(outer[k].Weights(), f);
    outer[k].Learn(LossesOf(f, step.y[k]));
    local_[k].Learn(base, step.x[k], step.y[k]);
    return mixed;
  }

  AlgorithmOptions o_;
  std::shared_ptr<const KernelBank> bank_ = twin::Bank();
  std::vector<std::vector<Weighted>> samples_ = std::vector<std::vector<Weighted>>(twin::kKernels);
  std::vector<SlowLocal> local_;
};

/// Samples reach the server as multiples of 2^-22, which moves what they leave over by
/// 2^-23 (1 + ||theta||_1), about 1e-6. Predictions move by as much and by the weights' share,
/// theta itself by 1 / (2 sqrt(ridge)) = 5 times the root of some 300 samples as much at worst.
constexpr double kTolerance = 1e-5;
constexpr double kThetaTolerance = 1e-4;

class PofNewton : public testing::TestWithParam<std::tuple<double, bool>> {};

TEST_P(PofNewton, AgreesWithTheSlowVersion) {
  const auto [forgetting, local] = GetParam();
  AlgorithmOptions options = Options();
  options.forgetting = forgetting;
  const auto algorithm =
      NewPofNewton({twin::Bank(), options, twin::kEndless, local ? LocalBank() : nullptr});
  twin::Federation real(*algorithm);
  SlowPofNewton slow(options, local);
  twin::ExpectSamePredictions(real, slow, LossKind::kSquared, kTolerance);
  for (std::size_t i = 0; i < twin::kKernels; ++i) {
    const auto theta = std::span(real.broadcast().model).subspan(i * twin::kWidth, twin::kWidth);
    EXPECT_LT(twin::RelativeError(theta, slow.theta[i]), kThetaTolerance) << i;
  }
  for (std::size_t k = 0; k < twin::kClients; ++k) {
    const Vector& state = real.states[k];
    for (std::size_t i = 0; i < twin::kKernels; ++i) {
      EXPECT_NEAR(state[i], slow.clients[k].losses[i], kTolerance);
    }
    EXPECT_NEAR(state[twin::kKernels], slow.clients[k].gap, kTolerance);
    if (!local) continue;
    for (std::size_t i = 0; i <= kLocalKernels; ++i) {
      EXPECT_NEAR(state[twin::kKernels + 1 + i], slow.outer[k].losses[i], kTolerance);
    }
    EXPECT_NEAR(state[algorithm->lasting_state() - 1], slow.outer[k].gap, kTolerance);
  }
}

// Private experts that forget are RecursiveLeastSquares' own matter, and its test's.
INSTANTIATE_TEST_SUITE_P(Forgetting, PofNewton,
                         testing::Values(std::tuple(1.0, false), std::tuple(0.95, false),
                                         std::tuple(1.0, true)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param) < 1 ? "Forgets" : "Keeps") +
                                  (std::get<1>(test.param) ? "WithLocalExperts" : "");
                         });

TEST(PofNewtonAlone, DescribesItself) {
  const auto plain = NewPofNewton({twin::Bank(), Options(), twin::kEndless});
  EXPECT_EQ(plain->name(), "pof-newton");
  EXPECT_EQ(plain->shape().blocks, 7U);
  EXPECT_EQ(plain->shape().width, 10U);
  EXPECT_EQ(plain->shape().blocks_per_update, 3U);
  EXPECT_EQ(plain->shape().losses_per_update, 0U);
  EXPECT_EQ(plain->experts(), 7U);
  EXPECT_EQ(plain->state_size(), 8U);
  EXPECT_EQ(plain->lasting_state(), 8U);
  EXPECT_EQ(plain->weight_rate(), 0);
  const auto local = NewPofNewton({twin::Bank(), Options(), twin::kEndless, LocalBank()});
  EXPECT_EQ(local->experts(), 7U);
  EXPECT_EQ(local->lasting_state(), 8U + 5U);
  EXPECT_EQ(local->state_size(), 8U + 5U + 3 * (1 + 8 + 64));
  EXPECT_EQ(local->shape().update_size(), plain->shape().update_size());
}

/// One client's message for a broadcast.
Updates MessageFor(const Algorithm& algorithm, const Broadcast& broadcast, double label,
                   Vector state) {
  const std::uint64_t ids[] = {4};
  const std::vector<float> x = {0.3F, 0.9F, 0.1F};
  double* const states[] = {state.data()};
  const Samples samples{ids, x, states, {}};
  const auto step = algorithm.NewCpuStep();
  step->Predict(broadcast, samples);
  return step->Learn(Vector{label});
}

TEST(PofNewtonAlone, SendsFeaturesAsLongAsTheLabelSays) {
  const auto algorithm = NewPofNewton({twin::Bank(), Options(), twin::kEndless});
  Broadcast broadcast;
  broadcast.model.assign(algorithm->shape().model_size(), 0);
  // Labels outside [0, 1] are taken for its ends.
  for (const double label : {-3.0, 0.0, 0.2, 0.5, 1.0, 7.0}) {
    const Updates sent = MessageFor(*algorithm, broadcast, label, Vector(algorithm->state_size()));
    ASSERT_EQ(sent.blocks.size(), 3U);
    EXPECT_NO_THROW(CheckUpdates(algorithm->shape(), sent)) << label;
    const double length = std::exp(std::asinh(Clip(label) - 0.5));
    for (std::size_t at = 0; at < 3; ++at) {
      const Vector z = twin::FeaturesOf(*twin::Bank(), sent.blocks[at],
                                        {double{0.3F}, double{0.9F}, double{0.1F}});
      for (std::size_t j = 0; j < twin::kWidth; ++j) {
        EXPECT_NEAR(sent.values[at * twin::kWidth + j], length * z[j], 1e-6);
      }
    }
  }
}

TEST(PofNewtonAlone, SendsTheSameForAnOldBroadcastAsForANewOne) {
  AlgorithmOptions options = Options();
  options.kernels_per_upload = twin::kKernels;
  const auto algorithm = NewPofNewton({twin::Bank(), options, twin::kEndless});
  twin::Federation real(*algorithm);
  const auto steps = twin::DrawSteps(12);
  Broadcast old;
  for (const Step& step : steps) {
    if (step.t == 3) old = real.broadcast();
    real.Run(step);
  }
  ASSERT_NE(old.model, real.broadcast().model);
  Updates stale = MessageFor(*algorithm, old, 0.7, real.states[4]);
  const Updates fresh = MessageFor(*algorithm, real.broadcast(), 0.7, real.states[4]);
  EXPECT_EQ(stale.blocks, fresh.blocks);
  EXPECT_EQ(stale.values, fresh.values);
}

/// Each client's own squared error, and the cumulative losses of what it chooses among.
TEST(PofNewtonAlone, AtRateOneHalfLosesAtMostTwiceTheLogarithmOfTheKernels) {
  AlgorithmOptions options = Options();
  options.weighting = Weighting::kHedge;
  for (const bool random_labels : {false, true}) {
    const auto plain = NewPofNewton({twin::Bank(), options, twin::kEndless});
    const auto with_local = NewPofNewton({twin::Bank(), options, twin::kEndless, LocalBank()});
    twin::Federation real(*plain);
    twin::Federation local(*with_local);
    Vector loss(twin::kClients);
    Vector local_loss(twin::kClients);
    Random random(24, Purpose::kTest);
    for (Step step : twin::DrawSteps(400)) {
      for (double& y : step.y) {
        if (random_labels) y = random.Uniform() < 0.5 ? 0 : 1;
      }
      const Vector predictions = real.Run(step);
      const Vector local_predictions = local.Run(step);
      for (std::size_t k = 0, at = 0; k < twin::kClients; ++k) {
        if (step.present[k] == 0) continue;
        loss[k] += std::pow(predictions[at] - step.y[k], 2);
        local_loss[k] += std::pow(local_predictions[at] - step.y[k], 2);
        ++at;
      }
    }
    for (std::size_t k = 0; k < twin::kClients; ++k) {
      const auto best = [](const Vector& state, std::size_t from, std::size_t count) {
        return *std::min_element(state.begin() + static_cast<std::ptrdiff_t>(from),
                                 state.begin() + static_cast<std::ptrdiff_t>(from + count));
      };
      const double regret = loss[k] - best(real.states[k], 0, twin::kKernels);
      EXPECT_LE(regret, 2 * std::log(double{twin::kKernels}));
      EXPECT_GT(loss[k], 1);
      // The mixture of kernels is itself one of those that are mixed last.
      const double outer = local_loss[k] - best(local.states[k], twin::kKernels + 1, 4);
      EXPECT_LE(outer, 2 * std::log(double{kLocalKernels + 1}));
    }
  }
}

}  // namespace
}  // namespace polykern
