#include "polykern/core/subset.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace polykern {

Bin ChooseBin(std::span<const double> losses, std::span<const double> weights, std::size_t per_bin,
              double xi, double uniform, std::span<std::uint32_t> order,
              std::span<std::uint32_t> kernels) {
  const std::size_t n = losses.size();
  assert(n > 0 && weights.size() == n && order.size() >= n);
  assert(per_bin >= 1 && per_bin <= n && kernels.size() >= per_bin);
  assert(xi > 0 && xi <= 1 && uniform >= 0 && uniform < 1);
  const std::size_t bins = (n + per_bin - 1) / per_bin;
  if (xi == 1) {  // bins in the order of the kernels, all alike: no need to walk through them
    const auto drawn = static_cast<std::size_t>(uniform * static_cast<double>(bins));
    const std::size_t start = std::min(drawn, bins - 1) * per_bin;
    const std::size_t count = std::min(per_bin, n - start);
    std::iota(kernels.begin(), kernels.begin() + static_cast<std::ptrdiff_t>(count),
              static_cast<std::uint32_t>(start));
    return {count, 1 / static_cast<double>(bins)};
  }
  order = order.first(n);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return losses[a] != losses[b] ? losses[a] < losses[b] : a < b;
  });
  double cumulative = 0;
  for (std::size_t bin = 0;; ++bin) {
    const std::size_t start = bin * per_bin;
    const std::size_t count = std::min(per_bin, n - start);
    double weight = 0;
    for (std::size_t i = start; i < start + count; ++i) weight += weights[order[i]];
    const double q = xi / static_cast<double>(bins) + (1 - xi) * weight;
    cumulative += q;
    if (cumulative > uniform || bin + 1 == bins) {  // the last bin takes what rounding left
      std::copy_n(order.begin() + static_cast<std::ptrdiff_t>(start), count, kernels.begin());
      return {count, q};
    }
  }
}

std::size_t DrawIndex(std::span<const double> probabilities, double uniform) {
  assert(!probabilities.empty() && uniform >= 0 && uniform < 1);
  double cumulative = 0;
  for (std::size_t i = 0; i + 1 < probabilities.size(); ++i) {
    cumulative += probabilities[i];
    if (cumulative > uniform) return i;
  }
  return probabilities.size() - 1;
}

}  // namespace polykern
