#include "polykern/algorithms/options.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <sstream>

#include "polykern/core/error.h"

namespace polykern {
namespace {

constexpr std::size_t kMostFeatures = 100;                      // the paper's
constexpr std::size_t kMostLocalMemory = std::size_t{1} << 30;  // KiB: 1 TiB

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

/// The most features per kernel that the budget allows; 0 if it does not even allow one.
std::size_t AllowedFeatures(const AlgorithmOptions& options, const Uplink& uplink) {
  if (uplink.kernels == 0) return std::numeric_limits<std::size_t>::max();
  return (options.budget - std::min(options.budget, uplink.losses)) / (2 * uplink.kernels);
}

std::string Describe(const Uplink& uplink) {
  return std::string(uplink.algorithm) + " sends " + std::to_string(uplink.kernels) + " kernels" +
         (uplink.losses > 0 ? " and " + std::to_string(uplink.losses) + " losses" : "");
}

}  // namespace

double Rate::At(std::uint64_t steps) const {
  if (schedule == Schedule::kConstant) return scale;
  return scale / std::sqrt(static_cast<double>(steps) + 1);
}

std::size_t KernelsPerUpload(const AlgorithmOptions& options) {
  if (options.kernels_per_upload) return *options.kernels_per_upload;
  const std::size_t numbers =
      2 * std::max<std::size_t>(1, options.features.value_or(kMostFeatures));
  return std::max<std::size_t>(1, std::min(options.budget / numbers, options.kernels));
}

std::size_t ResolveFeatures(const AlgorithmOptions& options, const Uplink& uplink) {
  return options.features.value_or(std::min(kMostFeatures, AllowedFeatures(options, uplink)));
}

double ResolveRate(const std::optional<double>& given, const Problem& problem) {
  assert(given || problem.horizon > 0);
  return given ? *given : 1 / std::sqrt(static_cast<double>(problem.horizon));
}

void CheckOptions(const AlgorithmOptions& options, const Uplink& uplink) {
  const std::size_t m = options.kernels_per_upload.value_or(1);
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
  const std::size_t allowed = AllowedFeatures(options, uplink);
  Require(allowed > 0, "--budget", options.budget,
          Describe(uplink) + ", with one feature " +
              std::to_string(2 * uplink.kernels + uplink.losses) +
              " numbers: raise it, or choose others with --kernels-per-upload or --algorithm");
  if (options.features) {
    Require(*options.features > 0, "--features", *options.features, "it must be at least 1");
    Require(*options.features <= allowed, "--features", *options.features,
            Describe(uplink) + ", so the budget of " + std::to_string(options.budget) +
                " numbers allows " + std::to_string(allowed) + ": lower it or raise --budget");
  }
  const double xi = options.exploration.value_or(1);
  Require(xi > 0 && xi <= 1, "--exploration", xi, "it must lie in (0, 1]");
  RequirePositive(options.learning_rate, "--learning-rate");
  RequirePositive(options.weight_rate, "--weight-rate");
  Require(options.regularization >= 0 && std::isfinite(options.regularization), "--regularization",
          options.regularization, "it must be 0 or more");
  Require(options.loss.delta > 0 && std::isfinite(options.loss.delta), "--huber-delta",
          options.loss.delta, "it must be above 0");
  RequirePositive(options.single_bandwidth, "--single-bandwidth");
  RequirePositive(options.inner_rate, "--inner-rate");
  RequirePositive(options.meta_rate, "--meta-rate");
  RequirePositive(options.projection_radius, "--projection-radius");
  RequirePositive(options.ridge, "--ridge");
  Require(options.forgetting > 0 && options.forgetting <= 1, "--forgetting", options.forgetting,
          "it must lie in (0, 1]");
  Require(options.refresh >= 0 && options.refresh < 1, "--refresh", options.refresh,
          "it must lie in [0, 1)");
  Require(options.local_kernels > 0, "--local-kernels", options.local_kernels,
          "it must be at least 1");
  const std::size_t local_memory = options.local_memory.value_or(0);
  Require(local_memory <= kMostLocalMemory, "--local-memory", local_memory,
          "it must be at most " + std::to_string(kMostLocalMemory) + " KiB");
}

}  // namespace polykern
