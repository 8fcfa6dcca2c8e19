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
  order = order.first(n);
  std::iota(order.begin(), order.end(), 0U);
  if (xi < 1) {
    std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
      return losses[a] != losses[b] ? losses[a] < losses[b] : a < b;
    });
  }
  const std::size_t bins = (n + per_bin - 1) / per_bin;
  double cumulative = 0;
  for (std::size_t bin = 0;; ++bin) {
    const std::size_t start = bin * per_bin;
    const std::size_t count = std::min(per_bin, n - start);
    double q = xi / static_cast<double>(bins);
    if (xi < 1) {
      double weight = 0;
      for (std::size_t i = start; i < start + count; ++i) weight += weights[order[i]];
      q += (1 - xi) * weight;
    }
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
