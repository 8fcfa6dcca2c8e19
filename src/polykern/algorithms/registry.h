#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/options.h"

namespace polykern {

/// Rates of 1 / sqrt(T) need a T; this, where none is known.
inline constexpr std::size_t kEndlessHorizon = 10'000;

/// All algorithm names, in the order they are shown to users.
std::span<const std::string_view> AlgorithmNames();

/// True if kernels_per_upload means something to the algorithm. Throws Error for an unknown name.
bool ChoosesKernels(std::string_view name);

/// Kernels and losses a client of the algorithm sends per step; no kernels if it sends none, or
/// something else. Throws Error for an unknown name.
Uplink UplinkOf(std::string_view name, const AlgorithmOptions& options);

/// False for an algorithm that needs squared loss when the loss is another one. Throws Error for an
/// unknown name.
bool SuitsLoss(std::string_view name, LossKind loss);

/// True if what a client sends does not depend on the model that it answers, so that it is as good
/// when it comes late. Throws Error for an unknown name.
bool UsesLateUpdates(std::string_view name);

/// xi: the given one, or the algorithm's own.
double ExplorationOf(std::string_view name, const AlgorithmOptions& options);

/// D, 0 for an algorithm without kernels. Throws Error for an unknown name.
std::size_t FeaturesOf(std::string_view name, const AlgorithmOptions& options);

/// Throws Error for an unknown name or settings that CheckOptions refuses.
void CheckAlgorithm(std::string_view name, const AlgorithmOptions& options);

/// Makes an algorithm by name, with features drawn from problem.seed; what it sends stays within
/// options.budget. Throws Error as CheckAlgorithm does, or if the problem's dimension is too high
/// for the budget.
std::unique_ptr<Algorithm> MakeAlgorithm(std::string_view name, const AlgorithmOptions& options,
                                         const Problem& problem);

/// The same over a bank that exists: its kernels, features and dimension take the place of the
/// options' and the problem's. Private experts of pof-newton are drawn from the options'
/// dictionary. Throws Error, too, for an algorithm that has no use for such a bank.
std::unique_ptr<Algorithm> MakeAlgorithm(std::string_view name,
                                         std::shared_ptr<const KernelBank> bank,
                                         AlgorithmOptions options, Problem problem);

}  // namespace polykern
