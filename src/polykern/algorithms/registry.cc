#include "polykern/algorithms/registry.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <string>

#include "polykern/algorithms/pof_mkl.h"
#include "polykern/core/error.h"

namespace polykern {
namespace {

constexpr std::array<std::string_view, 1> kNames = {"pof-mkl"};

}  // namespace

std::span<const std::string_view> AlgorithmNames() {
  return kNames;
}

void CheckAlgorithm(std::string_view name, const AlgorithmOptions& options) {
  if (std::ranges::find(kNames, name) == kNames.end()) {
    std::string known;
    for (const auto candidate : kNames) {
      known += (known.empty() ? "" : ", ") + std::string(candidate);
    }
    throw Error("unknown algorithm '" + std::string(name) + "'; there are: " + known);
  }
  CheckOptions(options);
}

std::unique_ptr<Algorithm> MakeAlgorithm(std::string_view name, const AlgorithmOptions& options,
                                         const Problem& problem) {
  CheckAlgorithm(name, options);
  const auto bank =
      std::make_shared<const KernelBank>(MakeDictionary(options.dictionary, options.kernels),
                                         problem.dimension, ResolveFeatures(options), problem.seed,
                                         options.orthogonal     ? Draw::kOrthogonal
                                         : options.shared_draws ? Draw::kShared
                                                                : Draw::kIndependent);
  assert(name == "pof-mkl");
  return NewPofMkl(bank, options, problem);
}

}  // namespace polykern
