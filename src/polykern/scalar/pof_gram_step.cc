// pof-gram, as docs/understand/pof-gram.md has it.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/gram/gram_grid.h"
#include "polykern/algorithms/gram/pof_gram.h"
#include "polykern/scalar/client_step_internal.h"
#include "polykern/scalar/experts_internal.h"
#include "polykern/scalar/regressions_internal.h"

namespace polykern::scalar {
namespace {

/// To multiples of 2^-18, as whole numbers of these.
std::int64_t Rounded(double value) {
  return static_cast<std::int64_t>(std::nearbyint(value * 0x1p18));
}

class PofGramStep final : public ClientStep {
 public:
  explicit PofGramStep(const Algorithm& algorithm)
      : ClientStep(algorithm),
        grid_(options_.epsilon > 0 ? GramGrid::Noisy(bank().features())
                                   : GramGrid(bank().kernels(), bank().features())),
        n_(grid_.experts()),
        outer_size_(0) {
    const auto& local = algorithm.definition().local_bank;
    if (local == nullptr) return;
    local_.emplace(*local, options_, GramLocalRules(options_));
    outer_size_ = 2 + local->kernels();
  }

 private:
  Prediction PredictClient(std::size_t c) const override {
    const Floats f = ExpertsF(c);
    const double base = MixtureOf(options_, WeightsOf(c), f);
    if (!local_) return {base, f};
    return {MixtureOf(options_, MixtureWeights(options_, OuterState(c), pace_), OuterF(c, base)),
            f};
  }

  void LearnClient(std::size_t c, double label) override {
    const Floats f = ExpertsF(c);
    const Doubles weights = WeightsOf(c);
    const double base = MixtureOf(options_, weights, f);
    Doubles losses = LossesOf(loss(), f, label);
    for (std::size_t e = 0; e < n_; ++e) {
      if (AnyAwake() && !IsAwake(e)) losses[e] = loss().Value(base, label);
    }
    for (const double each : losses) Score(each);
    LearnMixture(options_, losses, weights, MixtureState(c), pace_);
    if (local_) {
      LearnMixture(options_, LossesOf(loss(), OuterF(c, base), label),
                   MixtureWeights(options_, OuterState(c), pace_), OuterState(c), pace_);
      local_->Learn(base, label, X(c), LocalState(c), AnyAwake() || !grid_.noisy());
    }
    Answer(c);
  }

  /// What this client has not sent yet of the experts whose turn it is.
  void Answer(std::size_t c) {
    const Doubles weights = NextWeightsOf(c);
    const auto numbers = State(c).subspan(LastingSize(), kNumbers);
    const auto since = State(c).subspan(LastingSize() + kNumbers, n_);
    Settle(numbers, since);
    numbers[0] += 1;
    numbers[1] += static_cast<double>(Unknowns(X(c)));
    const auto learnt = static_cast<std::uint64_t>(numbers[0]);
    const std::size_t first = updates_.blocks.size();
    for (const std::uint32_t expert : broadcast().turn) {
      const auto [begin, end] = Range(since[expert], learnt);
      LearntSamples samples;
      this->samples().history->Read(this->samples().clients[c], begin, end, learnt, samples);
      updates_.blocks.push_back(expert);
      updates_.samples.push_back(end - begin);
      updates_.unknowns.push_back(0);
      updates_.new_unknowns.push_back(0);
      for (std::uint64_t s = begin; s < end; ++s) {
        const std::uint64_t unknowns =
            Unknowns(std::span(samples.x).subspan((s - begin) * X(c).size(), X(c).size()));
        updates_.unknowns.back() += unknowns;
        if (static_cast<double>(s) >= numbers[6]) updates_.new_unknowns.back() += unknowns;
      }
      SendSums(expert, samples);
      for (const double weight : grid_.noisy() ? Doubles() : weights) {
        updates_.integers.push_back(
            static_cast<std::uint64_t>(std::nearbyint(weight / GramGrid::kUnit)));
      }
      since[expert] = -1 - static_cast<double>(begin);
    }
    // The first of the smallest sums tells of what is new.
    std::vector<std::pair<std::size_t, std::size_t>> by_size;
    for (std::size_t at = first; at < updates_.blocks.size(); ++at) {
      by_size.emplace_back(grid_.SizeOf(updates_.blocks[at]), at);
    }
    std::ranges::sort(by_size);
    for (std::size_t i = 1; i < by_size.size(); ++i) updates_.new_unknowns[by_size[i].second] = 0;
    updates_.fresh.push_back({static_cast<std::uint64_t>(numbers[0] - numbers[2]),
                              static_cast<std::uint64_t>(numbers[1] - numbers[3])});
    numbers[4] = numbers[0];
    numbers[5] = numbers[1];
  }

  /// A label and the inputs, of sparse ones twice those that are there, unless there is noise.
  std::uint64_t Unknowns(std::span<const float> x) const {
    if (grid_.noisy()) return 1 + x.size();
    std::uint64_t nonzero = 0;
    for (const float value : x) nonzero += value != 0 ? 1 : 0;
    return 1 + std::min<std::uint64_t>(x.size(), 2 * nonzero);
  }

  struct Samples {
    std::uint64_t begin;
    std::uint64_t end;
  };
  Samples Range(double since, std::uint64_t learnt) const {
    const std::uint64_t kept = algorithm_.kept_samples();
    const std::uint64_t begin =
        std::max(static_cast<std::uint64_t>(since), learnt > kept ? learnt - kept : 0);
    return {begin, std::min<std::uint64_t>(learnt, begin + options_.most_samples)};
  }

  /// Here every update counts.
  void Settle(std::span<double> numbers, std::span<double> since) const {
    for (std::size_t e = 0; e < n_; ++e) {
      if (since[e] >= 0) continue;
      const auto end =
          static_cast<double>(Range(-1 - since[e], static_cast<std::uint64_t>(numbers[4])).end);
      since[e] = end;
      numbers[6] = std::max(numbers[6], end);
      for (std::size_t smaller = e; grid_.HasSmaller(smaller); --smaller) {
        if (since[smaller - 1] >= 0) since[smaller - 1] = std::max(since[smaller - 1], end);
      }
    }
    if (numbers[4] > 0) std::copy_n(numbers.begin() + 4, 2, numbers.begin() + 2);
    numbers[4] = numbers[5] = 0;
  }

  void SendSums(std::size_t expert, const LearntSamples& samples) {
    const std::size_t width = grid_.WidthOf(expert);
    std::vector<std::int64_t> sums(GramGrid::EquationsSize(width));
    std::int64_t squares = 0;
    const std::size_t dimension = X(0).size();
    for (std::size_t s = 0; s < samples.y.size(); ++s) {
      const auto z =
          RoundedFeatures(expert, std::span(samples.x).subspan(s * dimension, dimension));
      const std::int64_t y = Rounded(std::clamp(samples.y[s], 0.0, 1.0) - kMiddleOfLabels);
      for (std::size_t i = 0; i < width; ++i) {
        const std::size_t row = GramGrid::RowStart(width, i);
        for (std::size_t j = i; j < width; ++j) sums[row + j - i] += z[i] * z[j];
        sums[row + width - i] += y * z[i];
      }
      squares += y * y;
    }
    if (grid_.noisy()) return SendNoisy(width, sums);
    for (const std::int64_t sum : sums) {
      updates_.integers.push_back(static_cast<std::uint64_t>(sum));
    }
    updates_.integers.push_back(static_cast<std::uint64_t>(squares));
  }

  /// Of each pair's three products two numbers, and coarser ones.
  void SendNoisy(std::size_t width, const std::vector<std::int64_t>& sums) {
    const auto send = [&](double products) {
      updates_.integers.push_back(static_cast<std::uint64_t>(
          static_cast<std::int64_t>(std::nearbyint(products * (GramGrid::kUnit / grid_.unit())))));
    };
    const auto at = [&](std::size_t i, std::size_t j) {
      return static_cast<double>(sums[GramGrid::RowStart(width, i) + j - i]);
    };
    for (std::size_t i = 0; i < width; ++i) {
      if (i % 2 == 0) {
        send((at(i + 1, i + 1) - at(i, i)) / std::numbers::sqrt2);
        send(at(i, i + 1) * std::numbers::sqrt2);
      }
      for (std::size_t j = i + 2 - i % 2; j <= width; ++j) send(at(i, j));  // b is the last
    }
  }

  /// Sine and cosine in turn. The CPU computes them in quarters of a kernel's features, each as
  /// long as if there were no others.
  std::vector<std::int64_t> RoundedFeatures(std::size_t expert, std::span<const float> x) const {
    const std::size_t quarter = (grid_.features() + 3) / 4;
    const Waves waves = WavesOf(bank(), grid_.KernelOf(expert), x);
    const float scale = 1 / std::sqrt(static_cast<float>(quarter));
    const double factor =
        std::sqrt(static_cast<double>(quarter) / static_cast<double>(grid_.features()));
    std::vector<std::int64_t> z;
    for (std::size_t j = 0; j < grid_.SizeOf(expert); ++j) {
      z.push_back(Rounded(static_cast<double>(scale * waves.sines[j]) * factor));
      z.push_back(Rounded(static_cast<double>(scale * waves.cosines[j]) * factor));
    }
    return z;
  }

  bool IsAwake(std::size_t e) const {
    return std::ranges::any_of(ThetaOf(e), [](float value) { return value != 0; });
  }
  bool AnyAwake() const {
    for (std::size_t e = 0; e < n_; ++e) {
      if (IsAwake(e)) return true;
    }
    return false;
  }
  Doubles WeightsOf(std::size_t c) const {
    std::vector<bool> awake;
    for (std::size_t e = 0; e < n_; ++e) awake.push_back(IsAwake(e) || !AnyAwake());
    return AwakeWeights(c, awake);
  }
  /// Those of the next step, when the experts whose turn it is are awake.
  Doubles NextWeightsOf(std::size_t c) const {
    std::vector<bool> awake;
    for (std::size_t e = 0; e < n_; ++e) {
      awake.push_back(IsAwake(e));
      for (const std::uint32_t expert : broadcast().turn) {
        if (grid_.KernelOf(e) == grid_.KernelOf(expert) && e <= expert) awake.back() = true;
      }
    }
    return AwakeWeights(c, awake);
  }
  Doubles AwakeWeights(std::size_t c, const std::vector<bool>& awake) const {
    Doubles weights = MixtureWeights(options_, MixtureState(c), pace_);
    if (!std::ranges::count(awake, false)) return weights;
    double all = 0;
    for (std::size_t e = 0; e < n_; ++e) all += awake[e] ? weights[e] : 0;
    const auto count = static_cast<double>(std::ranges::count(awake, true));
    for (std::size_t e = 0; e < n_; ++e) {
      weights[e] = !awake[e] ? 0 : all > 0 ? weights[e] / all : 1 / count;
    }
    return weights;
  }

  std::span<const float> ThetaOf(std::size_t e) const {
    return std::span(broadcast().model).subspan(grid_.ThetaStart(e), grid_.WidthOf(e));
  }
  Floats ExpertsF(std::size_t c) const {
    Floats f;
    for (std::size_t e = 0; e < n_; ++e) {
      const Doubles theta(ThetaOf(e).begin(), ThetaOf(e).end());
      const Floats z = Z(c, grid_.KernelOf(e));
      const std::size_t size = grid_.SizeOf(e);
      const double away = IsAwake(e) ? Dot(std::span(theta).first(size), std::span(z).first(size)) +
                                           Dot(std::span(theta).last(size),
                                               std::span(z).subspan(grid_.features(), size))
                                     : 0;
      f.push_back(static_cast<float>(std::clamp(kMiddleOfLabels + away, 0.0, 1.0)));
    }
    return f;
  }
  /// The federated prediction, and the private experts'.
  Floats OuterF(std::size_t c, double base) const {
    Floats f = local_->Predict(base, X(c), LocalState(c));
    f.insert(f.begin(), static_cast<float>(base));
    return f;
  }

  std::span<double> MixtureState(std::size_t c) const { return State(c).first(n_ + 1); }
  std::span<double> OuterState(std::size_t c) const {
    return State(c).subspan(n_ + 1, outer_size_);
  }
  std::size_t LastingSize() const { return n_ + 1 + outer_size_; }
  std::span<double> LocalState(std::size_t c) const {
    return State(c).subspan(LastingSize() + kNumbers + n_);
  }

  /// Samples and unknowns so far; those that the server knows of; those of the last update.
  static constexpr std::size_t kNumbers = 7;

  GramGrid grid_;
  double pace_ = GramPaceOf(options_);
  std::size_t n_;
  std::optional<PrivateRegressions> local_;
  std::size_t outer_size_;
};

}  // namespace

std::unique_ptr<CohortStep> NewPofGramStep(const Algorithm& algorithm) {
  return std::make_unique<PofGramStep>(algorithm);
}

}  // namespace polykern::scalar
