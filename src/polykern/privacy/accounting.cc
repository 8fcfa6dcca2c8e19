#include "polykern/privacy/accounting.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "polykern/core/error.h"
#include "polykern/privacy/discrete_gaussian.h"
#include "polykern/privacy/release_weights.h"

namespace polykern {
namespace {

// A few roundings of doubles, each of 2^-53, and what the C library adds to them in logarithms.
constexpr double kUpwards = 1 + 0x1p-40;

/// rho as (epsilon, delta), by Renyi's order a + 1: valid for every a > 0. The logarithm of a is
/// given.
double EpsilonByOrder(double rho, double log_of_delta, double log_of_a) {
  const double a = std::exp(log_of_a);
  const double log_of_order = std::log1p(a);
  return (1 + a) * rho + log_of_a - log_of_order - (log_of_delta + log_of_order) / a;
}

}  // namespace

double EventLength(const NoisePlan& plan) {
  assert(plan.unit > 0 && plan.numbers > 0 && plan.samples_per_event > 0);
  const double sample = std::sqrt(3) / 2 * (1 + 0x1p-14) / plan.unit;
  const double rounding = std::sqrt(static_cast<double>(plan.numbers));
  return static_cast<double>(plan.samples_per_event) * (sample + rounding) * kUpwards;
}

double RhoSpent(const NoisePlan& plan, std::uint64_t sigma, std::size_t done) {
  assert(sigma > 0 && done <= plan.releases);
  const double length = EventLength(plan) / static_cast<double>(sigma);
  const auto squares = static_cast<double>(ReleaseWeights(plan.releases).SquaresOf(done));
  return static_cast<double>(plan.kinds) * length * length * squares / 2 * kUpwards;
}

double EpsilonOf(double rho, double delta) {
  assert(rho >= 0 && delta > 0 && delta < 1);
  if (rho == 0) return 0;
  // Any order is right, so it does not matter for privacy how well the best is found. Ternary
  // search: it falls, and then rises.
  const double log_of_delta = std::log(delta);
  double low = -40;
  double high = 80;
  while (high - low > 1e-9) {
    const double left = low + (high - low) / 3;
    const double right = high - (high - low) / 3;
    const bool falls =
        EpsilonByOrder(rho, log_of_delta, left) > EpsilonByOrder(rho, log_of_delta, right);
    (falls ? low : high) = falls ? left : right;
  }
  return std::max(0.0, EpsilonByOrder(rho, log_of_delta, low)) * kUpwards;
}

double RhoFor(double epsilon, double delta) {
  assert(epsilon > 0 && delta > 0 && delta < 1);
  double low = 0;
  double high = epsilon;
  while (EpsilonOf(high, delta) <= epsilon) high *= 2;
  while (high - low > 1e-12 * high) {
    const double middle = low + (high - low) / 2;
    (EpsilonOf(middle, delta) <= epsilon ? low : high) = middle;
  }
  return low;
}

std::uint64_t LeastSigma(const NoisePlan& plan, double epsilon, double delta) {
  const double rho = RhoFor(epsilon, delta);
  const double estimate = std::ceil(std::sqrt(RhoSpent(plan, 1, plan.releases) / rho));
  if (!(estimate <= static_cast<double>(DiscreteGaussian::kMostSigma))) {
    throw Error(OptionName("epsilon") +
                " is too small for noise in such a small unit; raise it, or " + "lower " +
                OptionName("releases"));
  }
  auto sigma = static_cast<std::uint64_t>(std::max(estimate, 1.0));
  while (RhoSpent(plan, sigma, plan.releases) > rho) ++sigma;
  while (sigma > 1 && RhoSpent(plan, sigma - 1, plan.releases) <= rho) --sigma;
  return sigma;
}

}  // namespace polykern
