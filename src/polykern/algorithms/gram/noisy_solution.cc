#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

#include "polykern/algorithms/gram/gram_server.h"
#include "polykern/algorithms/gram/noisy_server.h"
#include "polykern/core/symmetric_eigen.h"

namespace polykern {
namespace {

/// The nearest numbers that are not negative and have this sum: all are lowered by the same, and
/// those that would be negative are 0 (Held, Wolfe and Crowder 1974).
void ProjectOntoSimplex(double sum, std::span<double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted, std::greater());
  double above = -sum;
  double lowered = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    above += sorted[i];
    const double each = above / static_cast<double>(i + 1);
    if (sorted[i] <= each) break;
    lowered = each;
  }
  for (double& value : values) value = std::max(value - lowered, 0.0);
}

/// A and b from what gram_grid.h says of their numbers.
struct Regression {
  std::vector<double> a;  // width x width
  std::vector<double> b;
};

Regression Decode(std::size_t width, std::span<const double> numbers, double samples) {
  Regression decoded{std::vector<double>(width * width), {}};
  const auto put = [&](std::size_t i, std::size_t j, double number) {
    decoded.a[i * width + j] = decoded.a[j * width + i] = number;
  };
  auto from = numbers.begin();
  for (std::size_t i = 0; i < width; ++i) {
    std::size_t j = i + 1;
    if (i % 2 == 0) {
      const double half = samples / static_cast<double>(width);  // of samples / D
      const double difference = *from++ / std::numbers::sqrt2;
      put(i, i, half - difference);
      put(i + 1, i + 1, half + difference);
      put(i, j++, *from++ / std::numbers::sqrt2);
    }
    for (; j < width; ++j) put(i, j, *from++);
    decoded.b.push_back(*from++);
  }
  assert(from == numbers.end());
  return decoded;
}

}  // namespace

bool CanBeNoisy(const GramGrid& grid, std::span<const double> estimate, double samples,
                double messages, double deviation) {
  const std::size_t width = grid.WidthOf(0);
  const auto features = static_cast<double>(grid.features());
  // Products of features are at most 1 / D, those with labels at most 1 / (2 sqrt D), which is
  // more. Twelve deviations are never exceeded.
  const double most =
      samples / (2 * std::sqrt(features)) * (1 + 1e-4) + messages * grid.unit() + 12 * deviation;
  if (!std::ranges::all_of(estimate, [most](double each) { return std::abs(each) <= most; })) {
    return false;
  }
  const Regression regression = Decode(width, estimate, samples);
  std::vector<double> equations;
  for (std::size_t i = 0; i < width; ++i) {
    for (std::size_t j = i; j < width; ++j) equations.push_back(regression.a[i * width + j]);
    equations.push_back(regression.b[i]);
  }
  // What a symmetric matrix of such noise takes from an eigenvalue: about twice this root, and
  // twelve deviations more never. Then what rounding does: of the messages, and of the features,
  // so that a pair's squares do not add up to 1 / D.
  const double noise = deviation * (2 * std::sqrt(static_cast<double>(width + 1)) + 12);
  const double rounding = messages * grid.unit() * static_cast<double>(width) +
                          samples * 4 * std::sqrt(GramGrid::kUnit / features);
  return CanBeProducts(width, equations, samples / 4, noise + rounding);
}

std::vector<double> SolveNoisy(const GramGrid& grid, std::span<const double> estimate,
                               double samples, double deviation, double ridge) {
  const std::size_t width = grid.WidthOf(0);
  const Regression regression = Decode(width, estimate, samples);
  SymmetricEigen eigen = DecomposeSymmetric(width, regression.a);
  ProjectOntoSimplex(samples, eigen.values);
  // The spectral norm of a symmetric matrix of such noise is about twice this. Half of it is best,
  // measured; eigenvalues have lost the other half already.
  const double shift = std::max(ridge, deviation * std::sqrt(static_cast<double>(width)));
  std::vector<double> theta(width);
  for (std::size_t k = 0; k < width; ++k) {
    const auto v = std::span(eigen.vectors).subspan(k * width, width);
    const double along = std::inner_product(v.begin(), v.end(), regression.b.begin(), 0.0);
    const double factor = along / (eigen.values[k] + shift);
    for (std::size_t i = 0; i < width; ++i) theta[i] += factor * v[i];
  }
  return theta;
}

}  // namespace polykern
