#include "polykern/algorithms/gram/pof_gram.h"

#include <algorithm>
#include <cmath>

#include "polykern/algorithms/broken_rule.h"
#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/gram/gram_grid.h"
#include "polykern/algorithms/gram/gram_schedule.h"
#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/kernels.h"

namespace polykern {
namespace {

using twin::Matrix;
using twin::Step;
using twin::Vector;
using twin::Weighted;

constexpr std::size_t kGramBandwidths = 2;

std::shared_ptr<const KernelBank> BankOfTwo() {
  return std::make_shared<const KernelBank>(MakeDictionary("gaussian", kGramBandwidths),
                                            twin::kDimension, 10, twin::kSeed);
}

AlgorithmOptions GramOptions() {
  AlgorithmOptions options;
  options.ridge = 0.01;
  options.disclosure = 10;  // turns in quick succession
  return options;
}

/// AdaHedge at pof-gram's pace, of experts some of which sleep.
struct SlowSleepers {
  Vector Awake(const std::vector<bool>& awake) const {
    const double best = *std::ranges::min_element(losses);
    Vector weights;
    for (const double loss : losses) {
      weights.push_back(loss == best ? 1 : gap > 0 ? std::exp(-Rate() * (loss - best)) : 0);
    }
    double all = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) all += weights[i] *= awake[i] ? 1 : 0;
    const auto count = static_cast<double>(std::ranges::count(awake, true));
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] = all > 0 ? weights[i] / all : awake[i] ? 1 / count : 0;
    }
    return weights;
  }
  void LearnWith(const Vector& weights, const Vector& step) {
    const double before = *std::ranges::min_element(losses);
    double least = 1e9;
    for (std::size_t i = 0; i < step.size(); ++i) {
      if (weights[i] > 0) least = std::min(least, step[i]);
    }
    double mixed = 0;
    for (std::size_t i = 0; i < step.size(); ++i) {
      // Sleepers may lose less than anybody awake: no 0 times infinity.
      if (gap > 0 && weights[i] > 0) mixed += weights[i] * std::exp(-Rate() * (step[i] - least));
      losses[i] += step[i];
    }
    const double mix =
        gap > 0 ? least - std::log(mixed) / Rate() : *std::ranges::min_element(losses) - before;
    gap += std::max(0.0, twin::Dot(weights, step) - mix);
  }
  double Rate() const { return kGramPace * std::log(static_cast<double>(losses.size())) / gap; }

  Vector losses = Vector(kGramBandwidths * 2);
  double gap = 0;
};

/// Every expert's regression solved anew from all samples that its turns have brought.
class SlowPofGram {
 public:
  explicit SlowPofGram(const AlgorithmOptions& options)
      : o_(options),
        schedule_(grid_, {.budget = static_cast<double>(options.budget),
                          .burst = static_cast<double>(options.burst),
                          .disclosure = options.disclosure,
                          .exploration = kGramExploration}) {}

  Vector operator()(const Step& step) {
    Vector predictions;
    std::vector<Vector> weights;
    SampleCount fresh;
    for (std::size_t k = 0; k < twin::kClients; ++k) {
      if (step.present[k] == 0) continue;
      const Vector w = clients[k].Awake(any_ ? awake_ : std::vector<bool>(n_, true));
      Vector f;
      for (std::size_t e = 0; e < n_; ++e) {
        f.push_back(awake_[e] ? Clip(0.5 + twin::Dot(theta[e], Z(e, step.x[k]))) : 0.5);
      }
      const double mixed = twin::Dot(w, f);
      predictions.push_back(mixed);
      Vector losses;
      for (std::size_t e = 0; e < n_; ++e) {
        const double p = awake_[e] || !any_ ? f[e] : mixed;
        losses.push_back((p - step.y[k]) * (p - step.y[k]));
      }
      clients[k].LearnWith(w, losses);
      weights.push_back(clients[k].Awake(NextAwake()));
      for (std::size_t e = 0; e < n_; ++e) pending_[k][e].push_back({step.x[k], step.y[k]});
      ++learnt_[k];
      ++fresh.samples;
      fresh.unknowns += 1 + twin::kDimension;
    }
    if (!predictions.empty()) EndStep(step, weights, fresh);
    return predictions;
  }

  Matrix theta = Matrix(kGramBandwidths * 2);
  std::vector<SlowSleepers> clients = std::vector<SlowSleepers>(twin::kClients);
  std::size_t turns = 0;

 private:
  struct Labelled {
    Vector x;
    double y;
  };

  struct Held {
    std::vector<Vector> weights;  // of each message
    std::vector<Labelled> samples;
  };

  static double Clip(double value) { return std::min(1.0, std::max(0.0, value)); }
  Vector Z(std::size_t e, const Vector& x) const {
    const Vector all = twin::FeaturesOf(*bank_, grid_.KernelOf(e), x);
    const std::size_t size = grid_.SizeOf(e);
    Vector z;
    for (std::size_t j = 0; j < 2 * size; ++j) {
      z.push_back(all[j < size ? j : 10 + j - size] * std::sqrt(10.0 / static_cast<double>(size)));
    }
    return z;
  }

  /// After this step's turns.
  std::vector<bool> NextAwake() const {
    std::vector<bool> awake = awake_;
    for (const std::uint32_t e : turn_) {
      awake[e] = true;
      if (grid_.HasSmaller(e)) awake[e - 1] = true;
    }
    if (std::ranges::count(awake, true) == 0) awake.assign(n_, true);
    return awake;
  }
  void EndStep(const Step& step, const std::vector<Vector>& weights, const SampleCount& fresh) {
    for (const std::uint32_t e : turn_) {
      for (const Vector& each : weights) held_[e].weights.push_back(each);
      for (std::size_t k = 0; k < twin::kClients; ++k) {
        if (step.present[k] == 0) continue;
        for (const Labelled& one : pending_[k][e]) held_[e].samples.push_back(one);
        const std::uint64_t samples = pending_[k][e].size();
        // The smallest of the turn, with its first expert, tells what is sent for the first time.
        const bool tells = *std::ranges::min_element(turn_, {}, [&](std::uint32_t each) {
          return grid_.SizeOf(each);
        }) == e;
        const std::uint64_t first_sent = tells ? learnt_[k] - reach_[k] : 0;
        schedule_.Hold(
            e,
            {{samples, samples * (1 + twin::kDimension)}, first_sent * (1 + twin::kDimension), 1});
        pending_[k][e].clear();
        if (grid_.HasSmaller(e)) pending_[k][e - 1].clear();
      }
    }
    for (std::size_t k = 0; k < twin::kClients; ++k) {
      if (step.present[k] != 0 && !turn_.empty()) reach_[k] = learnt_[k];
    }
    schedule_.Learnt(fresh);
    for (const std::size_t e : grid_.SmallestFirst()) {
      if (schedule_.Close(e)) Release(e);
    }
    turn_ = schedule_.NextTurn();
  }
  void Release(std::size_t e) {
    ++turns;
    Vector mean(n_);
    for (const Vector& each : held_[e].weights) {
      for (std::size_t i = 0; i < n_; ++i) {
        mean[i] += each[i] / static_cast<double>(held_[e].weights.size());
      }
    }
    for (const Labelled& one : held_[e].samples) {
      sums_[e].push_back({Z(e, one.x), one.y - 0.5});
      raw_[e].push_back(one);
    }
    schedule_.Opened(e, static_cast<double>(held_[e].samples.size()), mean);
    held_[e] = {};
    Learn(e);
    if (!grid_.HasSmaller(e)) return;
    held_[e - 1] = {};
    if (raw_[e - 1].size() > raw_[e].size()) return;
    raw_[e - 1] = raw_[e];
    sums_[e - 1].clear();
    for (const Labelled& one : raw_[e]) sums_[e - 1].push_back({Z(e - 1, one.x), one.y - 0.5});
    Learn(e - 1);
  }
  void Learn(std::size_t e) {
    theta[e] = twin::RidgeSolution(sums_[e], o_.ridge, grid_.WidthOf(e));
    awake_[e] = any_ = true;
  }

  AlgorithmOptions o_;
  std::shared_ptr<const KernelBank> bank_ = BankOfTwo();
  GramGrid grid_{kGramBandwidths, 10};
  std::size_t n_ = grid_.experts();
  GramSchedule schedule_;
  std::vector<std::uint32_t> turn_;
  std::vector<bool> awake_ = std::vector<bool>(n_);
  bool any_ = false;
  std::vector<std::vector<std::vector<Labelled>>> pending_ =
      std::vector(twin::kClients, std::vector(n_, std::vector<Labelled>()));
  std::vector<std::uint64_t> learnt_ = std::vector<std::uint64_t>(twin::kClients);
  std::vector<std::uint64_t> reach_ = std::vector<std::uint64_t>(twin::kClients);
  std::vector<Held> held_ = std::vector<Held>(n_);
  std::vector<std::vector<Weighted>> sums_ = std::vector<std::vector<Weighted>>(n_);
  std::vector<std::vector<Labelled>> raw_ = std::vector<std::vector<Labelled>>(n_);
};

/// Features are multiples of 2^-18 on their way to the server, an error of 2e-6 in each of 20,
/// which a ridge of 0.01 makes 5 times as large; weights follow it.
constexpr double kGramTolerance = 5e-4;

TEST(PofGram, AgreesWithTheSlowVersion) {
  const auto algorithm = NewPofGram({BankOfTwo(), GramOptions(), twin::kEndless});
  twin::Federation real(*algorithm);
  SlowPofGram slow(GramOptions());
  twin::ExpectSamePredictions(real, slow, LossKind::kSquared, kGramTolerance);
  EXPECT_GE(slow.turns, 4U);
  for (std::size_t k = 0; k < twin::kClients; ++k) {
    for (std::size_t e = 0; e < 4; ++e) {
      EXPECT_NEAR(real.states[k][e], slow.clients[k].losses[e], 150 * kGramTolerance);
    }
  }
}

TEST(PofGram, DescribesItself) {
  const auto algorithm = NewPofGram({BankOfTwo(), GramOptions(), twin::kEndless});
  EXPECT_EQ(algorithm->name(), "pof-gram");
  EXPECT_EQ(algorithm->experts(), 4U);
  EXPECT_EQ(algorithm->lasting_state(), 5U);
  EXPECT_EQ(algorithm->state_size(), 5U + 7 + 4);
  EXPECT_EQ(algorithm->kept_samples(), 2048U * 1024 / (3 * 4 + 8));
  EXPECT_EQ(algorithm->weight_rate(), 0);
  EXPECT_EQ(algorithm->most_clients(), ((1U << 29U) - 1) / 512);
}

/// One client with a sample for every step, answering for itself.
class OneClient {
 public:
  explicit OneClient(const Algorithm& algorithm)
      : step_(algorithm.NewCpuStep()), state_(algorithm.state_size()) {
    broadcast.model.resize(algorithm.shape().model_size());
  }

  Updates Learn(double y, const Answering& answering = {}) {
    const std::uint64_t ids[] = {0};
    const float sample[] = {0, static_cast<float>(y), 0};
    double* const states[] = {state_.data()};
    step_->Predict(broadcast, {ids, sample, states, {}, &history_});
    history_.Add(0, sample, y);
    return step_->Learn(Vector{y}, answering);
  }

  Broadcast broadcast;

 private:
  std::unique_ptr<CohortStep> step_;
  Vector state_;
  twin::History history_;
};

TEST(PofGram, SendsWhatItLearntWithoutAnswering) {
  const auto algorithm = NewPofGram({BankOfTwo(), GramOptions(), twin::kEndless});
  OneClient client(*algorithm);
  for (const double y : {0.1, 0.4, 0.7}) {
    EXPECT_TRUE(client.Learn(y, {.answers = false}).integers.empty());
  }
  client.broadcast.turn = {1};
  const Updates sent = client.Learn(0.8);
  EXPECT_EQ(sent.samples, std::vector<std::uint64_t>{4});
  EXPECT_EQ(sent.fresh, (std::vector<SampleCount>{{4, 12}}))
      << "of each a label, and one input: where it is and what it is";
}

TEST(PofGram, SendsAgainWhatDidNotCount) {
  const auto algorithm = NewPofGram({BankOfTwo(), GramOptions(), twin::kEndless});
  OneClient client(*algorithm);
  OneClient other(*algorithm);
  client.broadcast.turn = other.broadcast.turn = {0, 3};
  client.Learn(0.2);
  other.Learn(0.2, {.answers = false});
  const Updates again = client.Learn(0.6, {.last_counted = false});
  const Updates once = other.Learn(0.6);
  EXPECT_EQ(again.integers, once.integers);
  EXPECT_EQ(again.samples, once.samples);
  EXPECT_EQ(again.fresh, once.fresh);
  EXPECT_EQ(client.Learn(0.9).samples, (std::vector<std::uint64_t>{1, 1}));
}

TEST(PofGram, SendsNoMoreSamplesAtOnceThanAllowed) {
  AlgorithmOptions options = GramOptions();
  options.most_samples = 3;
  const auto algorithm = NewPofGram({BankOfTwo(), options, twin::kEndless});
  OneClient client(*algorithm);
  for (int i = 0; i < 6; ++i) client.Learn(0.1 * i, {.answers = false});
  client.broadcast.turn = {2};
  EXPECT_EQ(client.Learn(0.7).samples, std::vector<std::uint64_t>{3});
  EXPECT_EQ(client.Learn(0.8).samples, std::vector<std::uint64_t>{3});
  EXPECT_EQ(client.Learn(0.9).samples, std::vector<std::uint64_t>{3});
  EXPECT_EQ(client.Learn(1.0).samples, std::vector<std::uint64_t>{1});
}

}  // namespace
}  // namespace polykern
