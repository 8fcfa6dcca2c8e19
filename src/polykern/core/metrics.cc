#include "polykern/core/metrics.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "polykern/core/vector_ops.h"

namespace polykern {

double RegretBound(std::size_t kernels, double weight_rate, std::size_t steps) {
  return std::log(static_cast<double>(kernels)) / weight_rate +
         weight_rate * static_cast<double>(steps) / 2;
}

Spread SpreadOf(std::span<const double> values) {
  if (values.empty()) return {};
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  const double mean = sum / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / count)};
}

Scoreboard::Scoreboard(std::size_t clients, std::size_t kernels)
    : kernels_(kernels), totals_(clients), kernel_losses_(clients * kernels) {}

void Scoreboard::Record(std::size_t client, double squared_error, double loss,
                        std::span<const double> kernel_losses) {
  assert(kernel_losses.size() == kernels_);
  Totals& totals = totals_[client];
  totals.squared_error += squared_error;
  totals.loss += loss;
  ++totals.steps;
  totals.unit_range &= loss >= 0 && loss <= 1;
  if (kernels_ == 0) return;
  const auto sums = std::span(kernel_losses_).subspan(client * kernels_, kernels_);
  totals.best = AddAndFindLeast(kernel_losses, sums, totals.unit_range);
}

std::vector<double> Scoreboard::Save() const {
  std::vector<double> saved;
  saved.reserve(4 * totals_.size() + kernel_losses_.size());
  for (const Totals& totals : totals_) {
    saved.insert(saved.end(), {totals.squared_error, totals.loss, static_cast<double>(totals.steps),
                               totals.unit_range ? 1.0 : 0.0});
  }
  saved.insert(saved.end(), kernel_losses_.begin(), kernel_losses_.end());
  return saved;
}

void Scoreboard::Load(std::span<const double> saved) {
  assert(saved.size() == 4 * totals_.size() + kernel_losses_.size());
  for (std::size_t k = 0; k < totals_.size(); ++k) {
    const auto row = saved.subspan(4 * k, 4);
    totals_[k] = {row[0], row[1], 0, static_cast<std::uint64_t>(row[2]), row[3] != 0};
  }
  const auto rest = saved.subspan(4 * totals_.size());
  std::ranges::copy(rest, kernel_losses_.begin());
  for (std::size_t k = 0; k < totals_.size() && kernels_ > 0; ++k) {
    totals_[k].best = Least(std::span(kernel_losses_).subspan(k * kernels_, kernels_));
  }
}

}  // namespace polykern
