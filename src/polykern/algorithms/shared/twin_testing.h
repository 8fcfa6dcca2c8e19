#pragma once

// What the tests of the algorithms share: formulas in double, slow and obvious, and a handful of
// clients that take a real algorithm through its steps beside such a version of it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/options.h"
#include "polykern/core/kernels.h"
#include "polykern/core/random.h"

namespace polykern::twin {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

inline constexpr std::size_t kClients = 6;
inline constexpr std::size_t kDimension = 3;
inline constexpr std::size_t kKernels = 7;
inline constexpr std::size_t kFeatures = 5;
inline constexpr std::size_t kWidth = 2 * kFeatures;
inline constexpr std::uint64_t kSeed = 17;
inline constexpr Problem kProblem = {kDimension, 150, kSeed};
inline constexpr Problem kShort = {kDimension, 60, kSeed};
inline constexpr Problem kEndless = {kDimension, 0, kSeed};
inline constexpr LossKind kLosses[] = {LossKind::kSquared, LossKind::kHuber, LossKind::kLogistic};

inline std::shared_ptr<const KernelBank> Bank(std::size_t kernels = kKernels) {
  return std::make_shared<const KernelBank>(MakeDictionary("gaussian", kernels), kDimension,
                                            kFeatures, kSeed);
}

inline double Dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

inline Vector FeaturesOf(const KernelBank& bank, std::size_t kernel, const Vector& x) {  // (6)
  Vector sines;
  Vector cosines;
  const auto scale = std::sqrt(static_cast<double>(bank.features()));
  for (std::size_t j = 0; j < bank.features(); ++j) {
    const auto rho = bank.Frequencies(kernel).subspan(j * x.size(), x.size());
    const double angle = std::inner_product(x.begin(), x.end(), rho.begin(), 0.0);
    sines.push_back(std::sin(angle) / scale);
    cosines.push_back(std::cos(angle) / scale);
  }
  sines.insert(sines.end(), cosines.begin(), cosines.end());
  return sines;
}

inline double LossOf(const Loss& loss, double f, double y) {
  if (loss.kind == LossKind::kSquared) return (f - y) * (f - y);
  if (loss.kind == LossKind::kLogistic) return std::log(1 + std::exp(f)) - y * f;
  const double error = std::fabs(f - y);
  return error <= loss.delta ? error * error : 2 * loss.delta * error - loss.delta * loss.delta;
}

inline double SlopeOf(const Loss& loss, double f, double y) {
  if (loss.kind == LossKind::kSquared) return 2 * (f - y);
  if (loss.kind == LossKind::kLogistic) return std::exp(f) / (1 + std::exp(f)) - y;
  if (std::fabs(f - y) <= loss.delta) return 2 * (f - y);
  return f > y ? 2 * loss.delta : -2 * loss.delta;
}

/// exp(-rate losses_i), divided by their sum.
inline Vector WeightsOf(const Vector& losses, double rate) {
  Vector weights;
  for (const double loss : losses) weights.push_back(std::exp(-rate * (loss - losses[0])));
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

/// The first index whose cumulative probability exceeds `uniform`.
inline std::size_t Draw(const Vector& probabilities, double uniform) {
  double cumulative = 0;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    cumulative += probabilities[i];
    if (cumulative > uniform) return i;
  }
  return probabilities.size() - 1;
}

/// A client's weights: AdaHedge as its paper writes it, but for subtracting the least loss first,
/// without which exp(..) is 0 at the huge rates of the beginning.
struct SlowAdaHedge {
  explicit SlowAdaHedge(std::size_t experts = kKernels) : losses(experts) {}

  Vector Weights() const {
    const double best = *std::ranges::min_element(losses);
    Vector weights;
    for (const double loss : losses) {
      weights.push_back(loss == best ? 1 : gap > 0 ? std::exp(-Rate() * (loss - best)) : 0);
    }
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double& weight : weights) weight /= sum;
    return weights;
  }

  void Learn(const Vector& step) {
    const Vector weights = Weights();
    const double before = *std::ranges::min_element(losses);
    const double least = *std::ranges::min_element(step);
    double mixed = 0;
    for (std::size_t i = 0; i < step.size(); ++i) {
      if (gap > 0) mixed += weights[i] * std::exp(-Rate() * (step[i] - least));
      losses[i] += step[i];
    }
    const double mix =
        gap > 0 ? least - std::log(mixed) / Rate() : *std::ranges::min_element(losses) - before;
    gap += Dot(weights, step) - mix;
  }

  double Rate() const { return std::log(static_cast<double>(losses.size())) / gap; }

  Vector losses;
  double gap = 0;
};

/// Algorithm 1: the kernels that a client sends, and with which probability.
inline std::vector<std::size_t> Choose(const AlgorithmOptions& options, const Vector& losses,
                                       const Vector& w, double uniform, double& p) {
  const std::size_t m = *options.kernels_per_upload;
  const double xi = *options.exploration;
  std::vector<std::size_t> order(w.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return losses[i]; });
  const std::size_t bins = (w.size() + m - 1) / m;
  Vector q(bins, xi / static_cast<double>(bins));
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    q[rank / m] += (1 - xi) * w[order[rank]];
  }
  const std::size_t bin = Draw(q, uniform);
  p = q[bin];
  std::vector<std::size_t> chosen;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    if (rank / m == bin) chosen.push_back(order[rank]);
  }
  return chosen;
}

/// a^-1 b by elimination without any order, which a positive definite matrix allows.
inline Vector Solve(Matrix a, Vector b) {
  for (std::size_t p = 0; p < b.size(); ++p) {
    for (std::size_t i = 0; i < b.size(); ++i) {
      if (i == p) continue;
      const double share = a[i][p] / a[p][p];
      for (std::size_t j = p; j < b.size(); ++j) a[i][j] -= share * a[p][j];
      b[i] -= share * b[p];
    }
  }
  for (std::size_t i = 0; i < b.size(); ++i) b[i] /= a[i][i];
  return b;
}

/// A sample of a regression, and how much it counts.
struct Weighted {
  Vector z;
  double y = 0;
  double weight = 1;
};

/// (ridge I + sum weight z z')^-1 sum weight y z.
inline Vector RidgeSolution(const std::vector<Weighted>& samples, double ridge, std::size_t width) {
  Matrix a(width, Vector(width));
  Vector b(width);
  for (std::size_t i = 0; i < width; ++i) {
    a[i][i] = ridge;
    for (const Weighted& sample : samples) {
      for (std::size_t j = 0; j < width; ++j) {
        a[i][j] += sample.weight * sample.z[i] * sample.z[j];
      }
      b[i] += sample.weight * sample.y * sample.z[i];
    }
  }
  return Solve(a, b);
}

/// One step's samples, and who is there.
struct Step {
  std::uint64_t t = 0;
  Matrix x;
  Vector y;
  std::vector<std::uint8_t> present;
};

/// Steps in which each client has a law of its own and now and then somebody is absent; in step 20
/// nobody is there.
inline std::vector<Step> DrawSteps(std::size_t count, LossKind loss = LossKind::kSquared) {
  Random random(3, Purpose::kTest);
  std::vector<Step> steps(count);
  for (std::size_t t = 0; t < count; ++t) {
    steps[t].t = t;
    for (std::size_t k = 0; k < kClients; ++k) {
      Vector x(kDimension);
      for (double& value : x) value = static_cast<double>(static_cast<float>(random.Uniform()));
      double y = 0.5 + 0.4 * std::sin(3 * x[0] + 5 * x[1] * static_cast<double>(k % 3));
      if (loss == LossKind::kLogistic) y = y > 0.5 ? 1 : 0;
      steps[t].x.push_back(x);
      steps[t].y.push_back(y);
      steps[t].present.push_back(t != 20 && random.Uniform() < 0.8 ? 1 : 0);
    }
  }
  return steps;
}

/// How a step's updates reach the server.
struct Arrival {
  bool one_by_one = false;  ///< each client is a cohort of its own
  bool backwards = false;   ///< the last client first
  std::size_t inboxes = 1;  ///< that take them in turn
};

/// Everything that each client has learnt from.
class History final : public SampleHistory {
 public:
  void Add(std::uint64_t client, std::span<const float> x, double y) {
    samples_[client].push_back({{x.begin(), x.end()}, y});
  }
  void Read(std::uint64_t client, std::uint64_t from, std::uint64_t to, std::uint64_t learnt,
            LearntSamples& samples) const override {
    const auto& all = samples_[client];
    EXPECT_EQ(learnt, all.size());
    for (std::uint64_t i = from; i < to; ++i) {
      samples.x.insert(samples.x.end(), all[i].first.begin(), all[i].first.end());
      samples.y.push_back(all[i].second);
    }
  }

 private:
  std::vector<std::vector<std::pair<std::vector<float>, double>>> samples_ =
      std::vector<std::vector<std::pair<std::vector<float>, double>>>(kClients);
};

/// Who opens the sums of a federation with noise, here without any: what all releases add up to,
/// and by how much noise would be off, which grows with privacy.
class Openings {
 public:
  explicit Openings(const Algorithm& algorithm)
      : unit_(algorithm.shape().ring.unit), options_(algorithm.definition().options) {}

  void Open(Server& server) {
    for (Release& release : server.releases()) {
      if (options_.epsilon == 0) continue;
      running_.resize(release.sums.size());
      for (std::size_t i = 0; i < running_.size(); ++i) {
        running_[i] += static_cast<double>(release.sums[i]) * unit_;
      }
      release.estimate = running_;
      release.deviation = std::log(1 / options_.delta) / options_.epsilon;
    }
    server.Open();
  }

 private:
  double unit_;
  const AlgorithmOptions& options_;
  Vector running_;
};

/// The clients and the server of a real algorithm.
class Federation {
 public:
  explicit Federation(const Algorithm& algorithm, const Engine& engine = CpuEngine())
      : algorithm_(algorithm),
        step_(engine.NewStep(algorithm)),
        states(kClients, Vector(algorithm.state_size())),
        server(algorithm.NewServer()),
        openings_(algorithm) {}

  /// Takes a step and returns the predictions of those present, in order.
  Vector Run(const Step& step, const Arrival& arrival = {}) {
    std::vector<std::vector<std::size_t>> cohorts(1);
    for (std::size_t k = 0; k < kClients; ++k) {
      if (step.present[k] == 0) continue;
      if (arrival.one_by_one && !cohorts.back().empty()) cohorts.emplace_back();
      cohorts.back().push_back(k);
    }
    Vector predictions;
    std::vector<Updates> updates;
    for (const auto& cohort : cohorts) {
      updates.push_back(RunCohort(cohort, step, predictions));
      CheckUpdates(algorithm_.shape(), updates.back());
      algorithm_.CheckContents(updates.back(), broadcast());
    }
    if (arrival.backwards) std::reverse(updates.begin(), updates.end());
    std::vector<std::unique_ptr<Inbox>> inboxes;
    for (std::size_t i = 0; i < arrival.inboxes; ++i) inboxes.push_back(server->NewInbox());
    for (std::size_t i = 0; i < updates.size(); ++i) {
      inboxes[i % inboxes.size()]->Add(updates[i]);
    }
    server->Commit(inboxes, predictions.size());
    openings_.Open(*server);
    return predictions;
  }

  const Broadcast& broadcast() const { return server->broadcast(); }

 private:
  Updates RunCohort(const std::vector<std::size_t>& cohort, const Step& step, Vector& predictions) {
    std::vector<std::uint64_t> ids(cohort.begin(), cohort.end());
    std::vector<float> x;
    std::vector<double*> state;
    Vector labels;
    for (const std::size_t k : cohort) {
      for (const double value : step.x[k]) x.push_back(static_cast<float>(value));
      state.push_back(states[k].data());
      labels.push_back(step.y[k]);
    }
    for (std::size_t i = 0; i < cohort.size(); ++i) {
      history.Add(cohort[i], std::span(x).subspan(i * kDimension, kDimension), labels[i]);
    }
    const Samples samples{ids, x, state, {}, &history};
    const Matrix before = states;
    step_->Predict(broadcast(), samples);
    EXPECT_EQ(states, before) << "Predict changed a state";
    predictions.insert(predictions.end(), step_->predictions().begin(), step_->predictions().end());
    const Updates& updates = step_->Learn(labels);
    EXPECT_EQ(step_->kernel_losses().size(), cohort.size() * algorithm_.experts());
    return updates;
  }

  const Algorithm& algorithm_;
  std::unique_ptr<CohortStep> step_;

 public:
  Matrix states;
  History history;
  std::unique_ptr<Server> server;

 private:
  Openings openings_;
};

/// ||a - b|| / ||b||.
inline double RelativeError(std::span<const float> a, const Vector& b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - b[i], 2);
  }
  return std::sqrt(difference / std::max(Dot(b, b), 1e-24));
}

/// Runs the algorithm beside twin(step), which gives the predictions of those present. Floats are
/// good to 6e-8, and 150 steps of a contraction add few of them up.
template <class Twin>
void ExpectSamePredictions(Federation& real, Twin&& twin, LossKind loss, double tolerance = 1e-5) {
  double size = 0;
  for (const Step& step : DrawSteps(150, loss)) {
    const Vector ours = real.Run(step);
    const Vector expected = twin(step);
    ASSERT_EQ(ours.size(), expected.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      ASSERT_NEAR(ours[i], expected[i], tolerance) << "step " << step.t;
      size = std::max(size, std::abs(expected[i]));
    }
  }
  EXPECT_GT(size, 0.1) << "nothing was learnt, so nothing was compared";
}

/// Rates at which a little is learnt within the steps of a test.
inline AlgorithmOptions TestOptions(LossKind loss = LossKind::kSquared) {
  AlgorithmOptions options;
  options.kernels = kKernels;
  options.features = kFeatures;
  options.learning_rate = 0.2;
  options.weight_rate = 0.6;
  options.regularization = 0.01;
  options.loss = loss;
  return options;
}

}  // namespace polykern::twin
