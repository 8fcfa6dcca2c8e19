#include "polykern/algorithms/paper/perfedavg.h"

#include <string>

#include "polykern/algorithms/shared/summing_server.h"
#include "polykern/core/error.h"
#include "polykern/core/network.h"
#include "polykern/core/vector_ops.h"

namespace polykern {
namespace {

constexpr std::size_t kHiddenUnits = 20;
constexpr double kDifference = 0.001;  // delta of the Hessian product

class PerFedAvg final : public Algorithm {
 public:
  PerFedAvg(const AlgorithmOptions& options, const Problem& problem)
      : network_(ChooseLayers(problem.dimension, options.budget)),
        size_(network_.parameters()),
        hessian_free_(options.hessian_free),
        inner_rate_(options.inner_rate),
        meta_rate_(options.meta_rate),
        loss_(options.MakeLoss()),
        seed_(problem.seed),
        shape_{1, size_, 1} {}

  std::string_view name() const override { return "perfedavg"; }
  const ModelShape& shape() const override { return shape_; }
  const Loss& loss() const override { return loss_; }
  std::size_t experts() const override { return 0; }
  double weight_rate() const override { return 0; }
  std::size_t state_size() const override { return 0; }

  std::unique_ptr<Server> NewServer() const override {
    ServerRule rule;
    rule.start = network_.DrawParameters({seed_, Purpose::kNetwork});
    rule.apply = [rate = meta_rate_](const StepSums& sums, ServerState& state) {
      const double share = rate / sums.participants;
      for (std::size_t i = 0; i < state.model.size(); ++i) state.model[i] -= share * sums.values[i];
    };
    return NewSummingServer(shape_, std::move(rule));
  }

  void Predict(const Broadcast& broadcast, const Samples& samples, Workspace& w) const override {
    w.predictions.resize(samples.clients.size());
    w.numbers.assign(broadcast.model.begin(), broadcast.model.end());
    for (std::size_t c = 0; c < samples.clients.size(); ++c) {
      w.predictions[c] = network_.Forward(w.numbers, Sample(samples, c), w.network);
    }
  }

  void Learn(const Broadcast& broadcast, const Samples& samples, std::span<const double> labels,
             Workspace& workspace) const override {
    std::vector<double>& numbers = workspace.numbers;
    numbers.resize(5 * size_);
    const auto part = [&](std::size_t p) { return std::span(numbers).subspan(p * size_, size_); };
    const auto w = part(0);  // as Predict left it
    const auto moved = part(1);
    const auto step = part(2);
    const auto above = part(3);
    const auto below = part(4);
    Updates& updates = workspace.updates;
    updates.Begin(broadcast.step, samples.clients, 1, size_);
    for (std::size_t c = 0; c < samples.clients.size(); ++c) {
      const auto gradient_at = [&](std::span<const double> at, std::span<double> gradient) {
        const double f = network_.Forward(at, Sample(samples, c), workspace.network);
        network_.Backward(at, loss_.Slope(f, labels[c]), workspace.network, gradient);
      };
      const auto move = [&](double by, std::span<const double> along) {
        for (std::size_t i = 0; i < size_; ++i) moved[i] = w[i] + by * along[i];
      };
      gradient_at(w, step);
      move(-inner_rate_, step);
      gradient_at(moved, step);
      if (hessian_free_) {
        move(kDifference, step);
        gradient_at(moved, above);
        move(-kDifference, step);
        gradient_at(moved, below);
        for (std::size_t i = 0; i < size_; ++i) {
          step[i] -= inner_rate_ * (above[i] - below[i]) / (2 * kDifference);
        }
      }
      RoundToFloat(step, std::span(updates.values).subspan(c * size_, size_));
    }
  }

 private:
  std::span<const float> Sample(const Samples& samples, std::size_t c) const {
    const std::size_t inputs = network_.layers().front();
    return samples.x.subspan(c * inputs, inputs);
  }

  Network network_;
  std::size_t size_;
  bool hessian_free_;
  double inner_rate_;  // alpha
  double meta_rate_;   // beta
  Loss loss_;
  std::uint64_t seed_;
  ModelShape shape_;
};

}  // namespace

std::vector<std::size_t> ChooseLayers(std::size_t inputs, std::size_t budget) {
  std::vector<std::size_t> layers = {inputs, kHiddenUnits, 1};
  if (Network::CountParameters(layers) <= budget) {
    while (Network::CountParameters(layers) <= budget)
      layers.insert(layers.end() - 1, kHiddenUnits);
    layers.erase(layers.end() - 2);
    return layers;
  }
  // inputs + 2 numbers for each unit of the only hidden layer, and one more.
  const std::size_t units = budget == 0 ? 0 : (budget - 1) / (inputs + 2);
  if (units == 0) {
    throw Error(OptionName("budget") + " is " + std::to_string(budget) +
                "; perfedavg's network takes at least " + std::to_string(inputs + 3) +
                " numbers for " + std::to_string(inputs) +
                " inputs: raise it, or choose other algorithms with " + OptionName("algorithm"));
  }
  return {inputs, units, 1};
}

std::unique_ptr<Algorithm> NewPerFedAvg(const AlgorithmOptions& options, const Problem& problem) {
  return std::make_unique<PerFedAvg>(options, problem);
}

}  // namespace polykern
