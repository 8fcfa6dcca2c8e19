#include "polykern/algorithms/options.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "polykern/core/error.h"

namespace polykern {
namespace {

template <typename Number>
void Require(bool holds, const char* option, Number value, const std::string& rule) {
  if (holds) return;
  std::ostringstream text;
  text << option << " is " << value << "; " << rule;
  throw Error(text.str());
}

void RequirePositive(const std::optional<double>& value, const char* option) {
  if (value) Require(*value > 0 && std::isfinite(*value), option, *value, "it must be above 0");
}

}  // namespace

std::size_t ResolveFeatures(const AlgorithmOptions& options) {
  constexpr std::size_t kMostFeatures = 100;
  return options.features.value_or(
      std::min(kMostFeatures, options.budget / (2 * options.kernels_per_upload)));
}

void CheckOptions(const AlgorithmOptions& options) {
  const std::size_t m = options.kernels_per_upload;
  Require(options.kernels > 0 && options.kernels <= 100000, "--kernels", options.kernels,
          "it must lie between 1 and 100000");
  for (const Kernel& kernel : MakeDictionary(options.dictionary, options.kernels)) {
    Require(!options.orthogonal || IsIsotropic(kernel.kind), "--dictionary", options.dictionary,
            "it cannot have orthogonal features: leave out --orthogonal");
    Require(!options.shared_draws || kernel.kind == KernelKind::kGaussian, "--dictionary",
            options.dictionary, "only gaussian kernels can share a draw: leave out --shared-draws");
  }
  Require(!options.orthogonal || !options.shared_draws, "--orthogonal", options.orthogonal,
          "it does not go with --shared-draws: choose one");
  Require(m > 0, "--kernels-per-upload", m, "it must be at least 1");
  Require(m <= options.kernels, "--kernels-per-upload", m,
          "the dictionary has only " + std::to_string(options.kernels) + " kernels");
  Require(options.budget > 0, "--budget", options.budget, "it must be at least 2");
  Require(2 * m <= options.budget, "--kernels-per-upload", m,
          "even one feature each takes " + std::to_string(2 * m) + " numbers, over the budget of " +
              std::to_string(options.budget) + ": lower it or raise --budget");
  if (options.features) {
    const std::size_t features = *options.features;
    Require(features > 0, "--features", features, "it must be at least 1");
    Require(features <= options.budget / (2 * m), "--features", features,
            "with " + std::to_string(m) + " kernels per upload that is over the budget of " +
                std::to_string(options.budget) + " numbers, which allows " +
                std::to_string(options.budget / (2 * m)));
  }
  Require(options.exploration > 0 && options.exploration <= 1, "--exploration", options.exploration,
          "it must lie in (0, 1]");
  RequirePositive(options.learning_rate, "--learning-rate");
  RequirePositive(options.weight_rate, "--weight-rate");
  Require(options.regularization >= 0 && std::isfinite(options.regularization), "--regularization",
          options.regularization, "it must be 0 or more");
  Require(options.loss.delta > 0 && std::isfinite(options.loss.delta), "--huber-delta",
          options.loss.delta, "it must be above 0");
}

}  // namespace polykern
