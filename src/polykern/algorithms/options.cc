#include "polykern/algorithms/options.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iomanip>
#include <limits>
#include <sstream>

#include "polykern/core/random.h"

namespace polykern {
namespace {

constexpr std::size_t kMostFeatures = 100;  // the paper's
/// With kAutoForgetting clients follow what is quick; the server remembers a thousand steps, which
/// costs little where nothing drifts.
constexpr double kServersOwnForgetting = 0.999;

}  // namespace

double Rate::At(std::uint64_t steps) const {
  if (schedule == Schedule::kConstant) return scale;
  return scale / std::sqrt(static_cast<double>(steps) + 1);
}

std::uint64_t RepetitionSeed(std::uint64_t seed, std::uint64_t repetition) {
  return Random(seed, Purpose::kRepetition, repetition).Bits();
}

double ServerForgetting(const AlgorithmOptions& options) {
  return options.forgetting == kAutoForgetting ? kServersOwnForgetting : options.forgetting;
}

std::size_t KernelsPerUpload(const AlgorithmOptions& options) {
  if (options.kernels_per_upload) return *options.kernels_per_upload;
  const std::size_t numbers =
      2 * std::max<std::size_t>(1, options.features.value_or(kMostFeatures));
  return std::max<std::size_t>(1, std::min(options.budget / numbers, options.kernels));
}

std::size_t AllowedFeatures(const AlgorithmOptions& options, const Uplink& uplink) {
  if (uplink.kernels == 0) return std::numeric_limits<std::size_t>::max();
  return (options.budget - std::min(options.budget, uplink.losses)) / (2 * uplink.kernels);
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

std::span<const Name<Masking>> NamesOf(Masking) {
  static constexpr Name<Masking> kNames[] = {
      {Masking::kNone, "none"}, {Masking::kHelper, "helper"}, {Masking::kPairwise, "pairwise"}};
  return kNames;
}

std::span<const Name<Weighting>> NamesOf(Weighting) {
  static constexpr Name<Weighting> kNames[] = {{Weighting::kAdaHedge, "adahedge"},
                                               {Weighting::kHedge, "hedge"},
                                               {Weighting::kAggregating, "aggregating"}};
  return kNames;
}

bool OptionRange::Holds(double value) const {
  return std::isfinite(value) && (low_open ? value > low : value >= low) &&
         (high_open ? value < high : value <= high);
}

std::string OptionRange::Rule() const {
  std::ostringstream rule;
  rule << std::setprecision(15);  // whole numbers as such
  if (std::isfinite(high)) {
    rule << "it must lie in " << (low_open ? '(' : '[') << low << ", " << high
         << (high_open ? ')' : ']');
  } else {
    rule << (low_open ? "it must be above " : "it must be at least ") << low;
  }
  return rule.str();
}

bool UsesOption(std::string_view algorithm, const OptionDeclaration& option) {
  if (option.users.empty()) return true;
  const std::string among = " " + std::string(option.users) + " ";
  return among.find(" " + std::string(algorithm) + " ") != std::string::npos;
}

const OptionDeclaration* FindOption(std::string_view key) {
  const auto* found = std::ranges::find(kAlgorithmOptions, key, &OptionDeclaration::key);
  return found == std::end(kAlgorithmOptions) ? nullptr : found;
}

}  // namespace polykern
