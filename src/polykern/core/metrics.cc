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
  bool unit_range = loss >= 0 && loss <= 1;
  double* sums = kernel_losses_.data() + client * kernels_;
  for (std::size_t i = 0; i < kernels_; ++i) {
    sums[i] += kernel_losses[i];
    unit_range &= kernel_losses[i] >= 0 && kernel_losses[i] <= 1;
  }
  totals.unit_range &= unit_range;
}

double Scoreboard::Best(std::size_t client) const {
  if (kernels_ == 0) return 0;
  const auto sums = std::span(kernel_losses_).subspan(client * kernels_, kernels_);
  return Least(sums);
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
    totals_[k] = {row[0], row[1], static_cast<std::uint64_t>(row[2]), row[3] != 0};
  }
  const auto rest = saved.subspan(4 * totals_.size());
  std::ranges::copy(rest, kernel_losses_.begin());
}

}  // namespace polykern
