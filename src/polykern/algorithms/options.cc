#include "polykern/algorithms/options.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "polykern/core/error.h"
#include "polykern/core/kernels.h"

namespace polykern {
namespace {

constexpr std::size_t kMostFeatures = 100;  // the paper's

void Require(bool holds, std::string_view key, const AlgorithmOptions& options,
             const std::string& rule) {
  if (holds) return;
  throw Error(OptionName(key) + " is " + OptionText(*FindOption(key), options) + "; " + rule);
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

std::span<const Name<Schedule>> NamesOf(Schedule) {
  static constexpr Name<Schedule> kNames[] = {{Schedule::kConstant, "constant"},
                                              {Schedule::kAnytime, "anytime"}};
  return kNames;
}

std::span<const Name<Experts>> NamesOf(Experts) {
  static constexpr Name<Experts> kNames[] = {{Experts::kFederated, "federated"},
                                             {Experts::kFederatedAndLocal, "federated,local"},
                                             {Experts::kFederatedAndLocal, "local,federated"}};
  return kNames;
}

const OptionDeclaration* FindOption(std::string_view key) {
  const auto* found = std::ranges::find(kAlgorithmOptions, key, &OptionDeclaration::key);
  return found == std::end(kAlgorithmOptions) ? nullptr : found;
}

AlgorithmOptions AbsentOptions() {
  AlgorithmOptions options;
  for (const OptionDeclaration& option : kAlgorithmOptions) {
    SetOption(option, option.absent, options);
  }
  return options;
}

void CheckOptions(const AlgorithmOptions& options, const Uplink& uplink) {
  for (const OptionDeclaration& option : kAlgorithmOptions) CheckRange(option, options);
  for (const Kernel& kernel : MakeDictionary(options.dictionary, options.kernels)) {
    Require(!options.orthogonal || IsIsotropic(kernel.kind), "dictionary", options,
            "it cannot have orthogonal features: leave out " + OptionName("orthogonal"));
    Require(!options.shared_draws || kernel.kind == KernelKind::kGaussian, "dictionary", options,
            "only gaussian kernels can share a draw: leave out " + OptionName("shared_draws"));
  }
  Require(!options.orthogonal || !options.shared_draws, "orthogonal", options,
          "it does not go with " + OptionName("shared_draws") + ": choose one");
  Require(options.kernels_per_upload.value_or(1) <= options.kernels, "kernels_per_upload", options,
          "the dictionary has only " + std::to_string(options.kernels) + " kernels");
  const std::size_t allowed = AllowedFeatures(options, uplink);
  Require(allowed > 0, "budget", options,
          Describe(uplink) + ", with one feature " +
              std::to_string(2 * uplink.kernels + uplink.losses) +
              " numbers: raise it, or choose others with " + OptionName("kernels_per_upload") +
              " or " + OptionName("algorithm"));
  Require(options.features.value_or(1) <= allowed, "features", options,
          Describe(uplink) + ", so the budget of " + std::to_string(options.budget) +
              " numbers allows " + std::to_string(allowed) + ": lower it or raise " +
              OptionName("budget"));
}

}  // namespace polykern
