#include "online_learner.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "bindings.h"
#include "polykern/algorithms/alone/local_rls.h"
#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/options.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/kernels.h"

namespace polykern::python {
namespace {

constexpr double kFarAway = 1e4;       // of scaled inputs: beyond, kernels know nothing anyway
constexpr std::size_t kTogether = 64;  // rows that are predicted side by side

std::shared_ptr<const KernelBank> DrawBank(const OnlineLearnerOptions& o) {
  const double numbers = static_cast<double>(o.kernels) * static_cast<double>(o.features) *
                         static_cast<double>(o.dimension);
  const double state = static_cast<double>(o.kernels) * 4 * static_cast<double>(o.features) *
                       static_cast<double>(o.features);
  if (o.kernels == 0 || o.features == 0) throw Error("kernels and features must be at least 1");
  if (o.warm_up < 2)
    throw Error("warm_up is " + std::to_string(o.warm_up) + "; it must be at least 2");
  if (o.forgetting == kAutoForgetting) throw Error("forgetting is 0; it must lie in (0, 1]");
  if (numbers > 0x1p32 || state > 0x1p32) {
    throw Error(std::to_string(o.kernels) + " kernels with " + std::to_string(o.features) +
                " features are too many: lower kernels or features");
  }
  return std::make_shared<const KernelBank>(MakeDictionary(o.dictionary, o.kernels), o.dimension,
                                            o.features, RepetitionSeed(o.seed));
}

std::unique_ptr<Algorithm> MakeRls(const OnlineLearnerOptions& o,
                                   std::shared_ptr<const KernelBank> bank) {
  AlgorithmOptions options;
  options.dictionary = o.dictionary;
  options.ridge = o.ridge;
  options.forgetting = o.forgetting;
  const std::size_t width = bank->feature_size();
  options.local_memory = o.kernels * (1 + width + width * width) * sizeof(double) / 1024 + 1;
  return MakeAlgorithm("local-rls", std::move(bank), options,
                       {o.dimension, 1, RepetitionSeed(o.seed)});
}

}  // namespace

OnlineLearner::OnlineLearner(const OnlineLearnerOptions& options)
    : options_(options),
      bank_(DrawBank(options)),
      algorithm_(MakeRls(options, bank_)),
      client_(*algorithm_, 0, 1),
      round_(*algorithm_),
      together_(CpuEngine().NewStep(*algorithm_)),
      scaled_(options.dimension),
      means_(options.dimension) {}

void OnlineLearner::Scale(std::span<const double> row, std::span<float> scaled) const {
  for (std::size_t i = 0; i < row.size(); ++i) {
    scaled[i] =
        static_cast<float>(std::clamp((row[i] - means_[i]) * factors_[i], -kFarAway, kFarAway));
  }
}

void OnlineLearner::FindScale() {
  const std::size_t d = options_.dimension;
  const std::size_t count = first_.size() / (d + 1);
  const auto at = [&](std::size_t row, std::size_t column) {
    return first_[row * (d + 1) + column];
  };
  factors_.resize(d);
  for (std::size_t i = 0; i <= d; ++i) {  // the labels are the last column
    double mean = 0;
    for (std::size_t row = 0; row < count; ++row) mean += at(row, i) / static_cast<double>(count);
    double squares = 0;
    double most = 0;
    for (std::size_t row = 0; row < count; ++row) {
      const double away = at(row, i) - mean;
      squares += away * away;
      most = std::max(most, std::fabs(away));
    }
    if (i == d) {
      middle_ = mean;
      half_ = most;
      break;
    }
    const double deviation = std::sqrt(squares / static_cast<double>(count));
    // A column that has not moved yet has no unit but its own size. Rounding is not movement.
    const bool moves = deviation > 1e-12 * std::fabs(mean);
    means_[i] = mean;
    factors_[i] = 1 / ((moves ? deviation : std::max(1.0, std::fabs(mean))) *
                       std::sqrt(static_cast<double>(d)));
  }
}

double OnlineLearner::PredictScaled(std::span<const double> row) {
  Scale(row, scaled_);
  round_.Predict(nothing_, client_, 0, scaled_, std::array<std::uint8_t, 1>{1});
  return middle_ + (2 * round_.predictions()[0] - 1) * half_;
}

void OnlineLearner::LearnPredicted(double label) {
  const double away = std::fabs(label - middle_);
  if (away > half_) {
    // By a power of two, so that nothing is rounded. What a first label was called does not matter:
    // while all labels are alike, nothing is learnt.
    double wider = half_ > 0 ? half_ : away;
    while (wider < away) wider *= 2;
    if (half_ > 0) ScaleLabels(*bank_, half_ / wider, client_.State(0));
    // Learn continues with the prediction that was made: repeat it in the new unit.
    half_ = wider;
    round_.Predict(nothing_, client_, 0, scaled_, std::array<std::uint8_t, 1>{1});
  }
  const double unit = half_ > 0 ? 0.5 + 0.5 * (label - middle_) / half_ : 0.5;
  round_.Learn(std::array{unit});
}

void OnlineLearner::LearnAgain() {
  FindScale();
  std::ranges::fill(client_.State(0), 0);
  const std::size_t width = options_.dimension + 1;
  for (std::size_t at = 0; at < first_.size(); at += width) {
    PredictScaled(std::span(first_).subspan(at, width - 1));
    LearnPredicted(first_[at + width - 1]);
  }
}

double OnlineLearner::PredictAndLearn(std::span<const double> row, double label) {
  double prediction = middle_;
  if (!factors_.empty()) prediction = PredictScaled(row);
  ++samples_;
  if (samples_ <= options_.warm_up) {
    first_.insert(first_.end(), row.begin(), row.end());
    first_.push_back(label);
  }
  if (samples_ == 1) {
    middle_ = label;
  } else if (samples_ <= options_.warm_up && std::has_single_bit(samples_)) {
    LearnAgain();
  } else {
    LearnPredicted(label);
  }
  if (samples_ == options_.warm_up) {
    first_.clear();
    first_.shrink_to_fit();
  }
  return prediction;
}

void OnlineLearner::Predict(std::span<const double> rows, std::span<double> predictions) {
  if (factors_.empty()) {
    std::ranges::fill(predictions, middle_);
    return;
  }
  const std::size_t d = options_.dimension;
  std::vector<float> x(kTogether * d);
  const std::vector<std::uint64_t> ids(kTogether);
  const std::vector<double*> states(kTogether, client_.State(0).data());
  for (std::size_t from = 0; from < predictions.size(); from += kTogether) {
    const std::size_t count = std::min(kTogether, predictions.size() - from);
    for (std::size_t i = 0; i < count; ++i) {
      Scale(rows.subspan((from + i) * d, d), std::span(x).subspan(i * d, d));
    }
    const Samples samples = {std::span(ids).first(count),
                             std::span(x).first(count * d),
                             std::span(states).first(count),
                             {}};
    together_->Predict(nothing_, samples);
    for (std::size_t i = 0; i < count; ++i) {
      predictions[from + i] = middle_ + (2 * together_->predictions()[i] - 1) * half_;
    }
  }
}

std::vector<double> OnlineLearner::Weights() {
  std::vector<double> weights(algorithm_->experts());
  algorithm_->Weights(client_.State(0), 0, weights);
  return weights;
}

std::vector<double> OnlineLearner::Save() const {
  std::vector<double> saved = {static_cast<double>(samples_), middle_, half_,
                               static_cast<double>(factors_.size()),
                               static_cast<double>(first_.size())};
  for (const auto* part : {&means_, &factors_, &first_, &client_.Save()}) {
    saved.insert(saved.end(), part->begin(), part->end());
  }
  return saved;
}

void OnlineLearner::Load(std::span<const double> saved) {
  constexpr std::size_t kHead = 5;
  const std::size_t d = options_.dimension;
  const std::size_t state = client_.Save().size();
  const bool scaled = saved.size() >= kHead && saved[3] != 0;
  const std::size_t first =
      saved.size() - std::min(saved.size(), kHead + d + (scaled ? d : 0) + state);
  if (saved.size() < kHead + d + state || saved[4] != static_cast<double>(first) ||
      first % (d + 1) != 0) {
    throw Error("a saved regressor does not fit: it has other settings");
  }
  samples_ = static_cast<std::uint64_t>(saved[0]);
  middle_ = saved[1];
  half_ = saved[2];
  std::size_t at = kHead;
  const auto take = [&](std::size_t count) {
    at += count;
    const auto part = saved.subspan(at - count, count);
    return std::vector<double>(part.begin(), part.end());
  };
  means_ = take(d);
  factors_ = take(scaled ? d : 0);
  first_ = take(first);
  client_.Load(take(state));
}

}  // namespace polykern::python
