// The algorithms that POF-MKL is compared with, as docs/understand/baselines.md has them.

#include <algorithm>
#include <array>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/paper/perfedavg.h"
#include "polykern/core/network.h"
#include "polykern/core/random.h"
#include "polykern/scalar/client_step_internal.h"

namespace polykern::scalar {
namespace {

/// ofskl, ofmkl-avg, vm-kofl.
class EveryKernelStep final : public ClientStep {
 public:
  using ClientStep::ClientStep;

 private:
  Prediction PredictClient(std::size_t c) const override {
    const Doubles equal(kernels_, 1 / static_cast<double>(kernels_));
    const Floats f = F(c);
    return {Dot(broadcast().weights.empty() ? equal : broadcast().weights, f), f};
  }

  void LearnClient(std::size_t c, double label) override {
    const Floats f = F(c);
    for (std::size_t i = 0; i < kernels_; ++i) {
      const double loss = LossOf(i, f[i], label);
      Score(loss);
      if (algorithm_.shape().losses_per_update > 0) SendLoss(loss);
      SendGradient(c, i, f[i], label, RateOr(options_.learning_rate));
    }
  }
};

class FomdOmsStep final : public ClientStep {
 public:
  using ClientStep::ClientStep;

 private:
  Prediction PredictClient(std::size_t c) const override {
    const Floats f = F(c);
    return {static_cast<double>(f[Held(c)[0]]), f};
  }

  void LearnClient(std::size_t c, double label) override {
    const Floats f = F(c);
    const auto n = static_cast<double>(kernels_);
    for (const std::size_t i : Held(c)) {
      const double held = broadcast().weights[i] * (n - 2) / (n - 1) + 1 / (n - 1);
      SendLoss(LossOf(i, f[i], label));
      SendGradient(c, i, f[i], label, RateOr(options_.learning_rate) / held);
    }
  }

  /// I and J: where the number falls in the range of I is uniform again.
  std::array<std::size_t, 2> Held(std::size_t c) const {
    const Doubles& p = broadcast().weights;
    const double uniform = Uniform(c, Purpose::kOwnKernels);
    const std::size_t first = DrawIndex(p, uniform);
    double below = 0;
    for (std::size_t i = 0; i < first; ++i) below += p[i];
    const double within = p[first] > 0 ? (uniform - below) / p[first] : 0;
    const auto others = static_cast<double>(kernels_ - 1);
    const auto nth = static_cast<std::size_t>(std::clamp(within * others, 0.0, others - 1));
    return {first, nth < first ? nth : nth + 1};
  }
};

/// theta_i = keep theta_i - rate slope z_i, of a theta of the client's own.
void StepPrivately(double keep, double along, std::span<const float> z, std::span<double> theta) {
  for (std::size_t j = 0; j < z.size(); ++j) {
    theta[j] = keep * theta[j] + along * static_cast<double>(z[j]);
  }
}

/// Algorithms whose clients have a theta of their own: local, fed-poe and em-kofl.
class PrivateThetaStep : public ClientStep {
 public:
  using ClientStep::ClientStep;

 protected:
  Floats PrivateF(std::size_t c, std::span<const double> theta) const {
    Floats f;
    for (std::size_t i = 0; i < kernels_; ++i) {
      f.push_back(static_cast<float>(Dot(Block(theta, i), Z(c, i))));
    }
    return f;
  }
  /// Steps every theta_i; gives the losses.
  Doubles LearnPrivately(std::size_t c, double label, double keep, std::span<double> theta) {
    const Floats f = PrivateF(c, theta);
    Doubles losses;
    for (std::size_t i = 0; i < kernels_; ++i) {
      const auto theta_i = Block(theta, i);
      losses.push_back(loss().Value(static_cast<double>(f[i]), label) +
                       options_.regularization * SumOfSquares(theta_i));
      const double slope = loss().Slope(static_cast<double>(f[i]), label);
      StepPrivately(keep, -RateOr(options_.learning_rate) * slope, Z(c, i), theta_i);
    }
    for (const double each : losses) Score(each);
    return losses;
  }
  template <class Number>
  std::span<Number> Block(std::span<Number> theta, std::size_t i) const {
    return MatrixRow(theta, i, bank().feature_size());
  }
};

class LocalStep final : public PrivateThetaStep {
 public:
  using PrivateThetaStep::PrivateThetaStep;

 private:
  Prediction PredictClient(std::size_t c) const override {
    const Floats f = PrivateF(c, Theta(c));
    return {Dot(SoftMin(State(c).first(kernels_), RateOr(options_.weight_rate)), f), f};
  }
  void LearnClient(std::size_t c, double label) override {
    const double keep = 1 - 2 * RateOr(options_.learning_rate) * options_.regularization;
    const Doubles losses = LearnPrivately(c, label, keep, Theta(c));
    for (std::size_t i = 0; i < kernels_; ++i) State(c)[i] += losses[i];
  }
  std::span<double> Theta(std::size_t c) const { return State(c).subspan(kernels_); }
};

/// Its state: the federated kernels' losses, those of the two mixtures, and what LocalStep has.
class FedPoeStep final : public PrivateThetaStep {
 public:
  using PrivateThetaStep::PrivateThetaStep;

 private:
  Prediction PredictClient(std::size_t c) const override {
    const Doubles mixtures = Mixtures(c);
    const Doubles shares = Weights(State(c).subspan(kernels_, 2));
    Floats all = F(c);
    for (const float f : PrivateF(c, Theta(c))) all.push_back(f);
    return {shares[0] * mixtures[0] + shares[1] * mixtures[1], all};
  }

  void LearnClient(std::size_t c, double label) override {
    const Doubles mixtures = Mixtures(c);
    const Floats f = F(c);
    for (std::size_t i = 0; i < kernels_; ++i) {
      const double loss = LossOf(i, f[i], label);
      Score(loss);
      State(c)[i] += loss;
      SendGradient(c, i, f[i], label, RateOr(options_.learning_rate));
    }
    for (const std::size_t m : {0, 1}) {
      State(c)[kernels_ + m] += loss().Value(mixtures[m], label);
    }
    const double keep = 1 - 2 * RateOr(options_.learning_rate) * options_.regularization;
    const Doubles losses = LearnPrivately(c, label, keep, Theta(c));
    for (std::size_t i = 0; i < kernels_; ++i) OwnLosses(c)[i] += losses[i];
  }

  /// What the federated kernels predict together, and what the client's own do.
  Doubles Mixtures(std::size_t c) const {
    return {Dot(Weights(State(c).first(kernels_)), F(c)),
            Dot(Weights(OwnLosses(c)), PrivateF(c, Theta(c)))};
  }
  Doubles Weights(std::span<const double> losses) const {
    return SoftMin(losses, RateOr(options_.weight_rate));
  }
  std::span<double> OwnLosses(std::size_t c) const {
    return State(c).subspan(kernels_ + 2, kernels_);
  }
  std::span<double> Theta(std::size_t c) const { return State(c).subspan(2 * kernels_ + 2); }
};

class EmKoflStep final : public PrivateThetaStep {
 public:
  using PrivateThetaStep::PrivateThetaStep;

 private:
  Prediction PredictClient(std::size_t c) const override {
    const Floats f = PrivateF(c, Theta(c));
    return {static_cast<double>(f[Drawn()]), f};
  }

  void LearnClient(std::size_t c, double label) override {
    Doubles theta = Theta(c);
    for (const double each : LearnPrivately(c, label, 1 - 2 * options_.regularization, theta)) {
      SendLoss(each);
    }
    State(c)[0] = static_cast<double>(broadcast().step + 1);
    State(c)[1] = static_cast<double>(Drawn());
    std::ranges::copy(theta, State(c).begin() + 2);
    const auto sent = Block(std::span(theta), Drawn());
    Send(0, Floats(sent.begin(), sent.end()));
  }

  /// The kernel of the step, the same for all.
  std::size_t Drawn() const {
    const double uniform = Random(seed(), Purpose::kSharedKernel, 0, broadcast().step).Uniform();
    return DrawIndex(broadcast().weights, uniform);
  }
  /// The client's theta, with the average that it helped to make in the step before.
  Doubles Theta(std::size_t c) const {
    Doubles theta(State(c).begin() + 2, State(c).end());
    if (broadcast().step > 0 && State(c)[0] == static_cast<double>(broadcast().step)) {
      const auto sent = static_cast<std::size_t>(State(c)[1]);
      std::ranges::copy(broadcast().model, Block(std::span(theta), sent).begin());
    }
    return theta;
  }
};

class PerFedAvgStep final : public ClientStep {
 public:
  explicit PerFedAvgStep(const Algorithm& algorithm)
      : ClientStep(algorithm),
        network_(ChooseLayers(algorithm.definition().problem.dimension, options_.budget)) {}

 private:
  Prediction PredictClient(std::size_t c) const override {
    Network::Activations activations;
    return {network_.Forward(Model(), X(c), activations)};
  }

  void LearnClient(std::size_t c, double label) override {
    const Doubles w = Model();
    Doubles step = Gradient(Moved(w, -options_.inner_rate, Gradient(w, c, label)), c, label);
    if (options_.hessian_free) {
      constexpr double kDelta = 0.001;
      const Doubles above = Gradient(Moved(w, kDelta, step), c, label);
      const Doubles below = Gradient(Moved(w, -kDelta, step), c, label);
      for (std::size_t i = 0; i < step.size(); ++i) {
        step[i] -= options_.inner_rate * (above[i] - below[i]) / (2 * kDelta);
      }
    }
    Send(0, Floats(step.begin(), step.end()));
  }

  Doubles Model() const { return {broadcast().model.begin(), broadcast().model.end()}; }
  static Doubles Moved(Doubles from, double by, const Doubles& along) {
    for (std::size_t i = 0; i < from.size(); ++i) from[i] += by * along[i];
    return from;
  }
  Doubles Gradient(const Doubles& at, std::size_t c, double label) const {
    Network::Activations activations;
    Doubles gradient(at.size());
    const double f = network_.Forward(at, X(c), activations);
    network_.Backward(at, loss().Slope(f, label), activations, gradient);
    return gradient;
  }

  Network network_;
};

}  // namespace

std::unique_ptr<CohortStep> NewEveryKernelStep(const Algorithm& algorithm) {
  return std::make_unique<EveryKernelStep>(algorithm);
}
std::unique_ptr<CohortStep> NewFomdOmsStep(const Algorithm& algorithm) {
  return std::make_unique<FomdOmsStep>(algorithm);
}
std::unique_ptr<CohortStep> NewLocalStep(const Algorithm& algorithm) {
  return std::make_unique<LocalStep>(algorithm);
}
std::unique_ptr<CohortStep> NewFedPoeStep(const Algorithm& algorithm) {
  return std::make_unique<FedPoeStep>(algorithm);
}
std::unique_ptr<CohortStep> NewEmKoflStep(const Algorithm& algorithm) {
  return std::make_unique<EmKoflStep>(algorithm);
}
std::unique_ptr<CohortStep> NewPerFedAvgStep(const Algorithm& algorithm) {
  return std::make_unique<PerFedAvgStep>(algorithm);
}

}  // namespace polykern::scalar
