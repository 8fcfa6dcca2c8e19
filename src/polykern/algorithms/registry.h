#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/options.h"

namespace polykern {

/// All algorithm names, in the order they are shown to users.
std::span<const std::string_view> AlgorithmNames();

/// Throws Error for an unknown name or settings that CheckOptions refuses.
void CheckAlgorithm(std::string_view name, const AlgorithmOptions& options);

/// Makes an algorithm by name, with features drawn from problem.seed. Throws Error as
/// CheckAlgorithm does.
std::unique_ptr<Algorithm> MakeAlgorithm(std::string_view name, const AlgorithmOptions& options,
                                         const Problem& problem);

}  // namespace polykern
