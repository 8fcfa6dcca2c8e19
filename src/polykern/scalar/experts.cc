#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "polykern/scalar/experts_internal.h"

namespace polykern::scalar {
namespace {

constexpr double kAggregatingRate = 2;

/// P = (P - g g' / divisor) / forgetting.
void Shrink(std::span<const double> g, double divisor, double forgetting, std::span<double> p) {
  const double by = -1 / (divisor * forgetting);
  for (std::size_t i = 0; i < g.size(); ++i) {
    for (std::size_t j = 0; j < g.size(); ++j) {
      double& value = p[i * g.size() + j];
      value = std::fma(1 / forgetting, value, by * (g[i] * g[j]));
    }
  }
}

/// How many axes get their ridge back with each sample, and how much of it.
struct Returned {
  std::size_t axes = 0;
  double ridge = 0;
};
Returned ReturnedBy(const AlgorithmOptions& options, std::size_t width) {
  if (options.forgetting == 1) return {};
  Returned returned;
  double left = 0;
  while (left < 0.5 && returned.axes < width) {
    ++returned.axes;
    left = 1;
    for (std::size_t seen = 0; seen < width; seen += returned.axes) left *= options.forgetting;
  }
  returned.ridge = options.ridge * (1 - left);
  return returned;
}

}  // namespace

double AdaHedgeRate(double gap, std::size_t experts, double pace) {
  if (gap > 0) return pace * std::log(static_cast<double>(experts)) / gap;
  return std::numeric_limits<double>::infinity();
}

double LearnAdaHedge(std::span<const double> step, std::span<const double> weights, double gap,
                     std::span<double> losses, double pace) {
  const double rate = AdaHedgeRate(gap, losses.size(), pace);
  const double before = *std::ranges::min_element(losses);
  double mean = 0;
  double least = std::numeric_limits<double>::infinity();  // of the experts that have a weight
  for (std::size_t i = 0; i < losses.size(); ++i) {
    mean += weights[i] * step[i];
    losses[i] += step[i];
    if (weights[i] > 0) least = std::min(least, step[i]);
  }
  double mix = *std::ranges::min_element(losses) - before;
  if (!std::isinf(rate)) {
    double sum = 0;
    for (std::size_t i = 0; i < losses.size(); ++i) {
      if (weights[i] > 0) sum += weights[i] * std::exp(-rate * (step[i] - least));
    }
    mix = least - std::log(sum) / rate;
  }
  return gap + std::max(0.0, mean - mix);
}

Doubles MixtureWeights(const AlgorithmOptions& options, std::span<const double> state,
                       double pace) {
  const std::size_t experts = state.size() - 1;
  const double rate = options.weighting == Weighting::kAggregating ? kAggregatingRate
                      : options.weighting == Weighting::kHedge
                          ? options.weight_rate.value_or(kUnitRate)
                          : AdaHedgeRate(state[experts], experts, pace);
  return SoftMin(state.first(experts), rate);
}

double MixtureOf(const AlgorithmOptions& options, std::span<const double> weights,
                 std::span<const float> f) {
  if (options.weighting != Weighting::kAggregating) return Dot(weights, f);
  double at_0 = 0;
  double at_1 = 0;
  for (std::size_t i = 0; i < f.size(); ++i) {
    const auto value = static_cast<double>(f[i]);
    at_0 += weights[i] * std::exp(-kAggregatingRate * value * value);
    at_1 += weights[i] * std::exp(-kAggregatingRate * (1 - value) * (1 - value));
  }
  return std::clamp(0.5 + std::log(at_1 / at_0) / (2 * kAggregatingRate), 0.0, 1.0);
}

void LearnMixture(const AlgorithmOptions& options, std::span<const double> step,
                  std::span<const double> weights, std::span<double> state, double pace) {
  const auto losses = state.first(step.size());
  if (options.weighting == Weighting::kAdaHedge) {
    state.back() = LearnAdaHedge(step, weights, state.back(), losses, pace);
  } else {
    for (std::size_t i = 0; i < step.size(); ++i) losses[i] += step[i];
  }
}

Choice ChooseKernels(std::span<const double> losses, std::span<const double> weights,
                     std::size_t per_upload, double xi, double uniform) {
  std::vector<std::uint32_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0U);
  if (xi < 1) std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return losses[i]; });
  std::vector<std::vector<std::uint32_t>> bins;
  for (const std::uint32_t kernel : order) {
    if (bins.empty() || bins.back().size() == per_upload) bins.emplace_back();
    bins.back().push_back(kernel);
  }
  const auto count = static_cast<double>(bins.size());
  if (xi == 1) {
    const auto drawn = static_cast<std::size_t>(uniform * count);
    return {bins[std::min(drawn, bins.size() - 1)], 1 / count};
  }
  double cumulative = 0;
  double q = 0;
  for (const auto& bin : bins) {  // (10)
    double weight = 0;
    for (const std::uint32_t kernel : bin) weight += weights[kernel];
    q = xi / count + (1 - xi) * weight;
    cumulative += q;
    if (cumulative > uniform) return {bin, q};
  }
  return {bins.back(), q};
}

void LearnRegression(const AlgorithmOptions& options, std::span<const float> z, double y,
                     std::span<double> state) {
  const std::size_t width = z.size();
  const auto theta = state.subspan(1, width);
  const auto p = state.subspan(1 + width);
  const auto seen = static_cast<std::uint64_t>(state[0]);
  if (seen == 0) {
    for (std::size_t i = 0; i < width; ++i) p[i * width + i] = 1 / options.ridge;
  }
  state[0] += 1;
  const double error = y - Dot(theta, z);
  Doubles gain(width);  // P z
  for (std::size_t i = 0; i < width; ++i) {
    for (std::size_t j = 0; j < width; ++j) gain[j] += static_cast<double>(z[i]) * p[i * width + j];
  }
  double divisor = options.forgetting;
  for (std::size_t i = 0; i < width; ++i) divisor += static_cast<double>(z[i]) * gain[i];
  for (std::size_t i = 0; i < width; ++i) theta[i] += gain[i] * (error / divisor);
  Shrink(gain, divisor, options.forgetting, p);
  const Returned returned = ReturnedBy(options, width);
  for (std::size_t a = 0; a < returned.axes; ++a) {  // a sample on the axis, with the label 0
    const std::size_t axis = (seen * returned.axes + a) % width;
    std::copy_n(p.begin() + static_cast<std::ptrdiff_t>(axis * width), width, gain.begin());
    const double along = 1 / returned.ridge + gain[axis];
    const double back = -theta[axis] / along;
    for (std::size_t i = 0; i < width; ++i) theta[i] += gain[i] * back;
    Shrink(gain, along, 1, p);
  }
}

}  // namespace polykern::scalar
