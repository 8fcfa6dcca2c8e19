#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/options.h"
#include "polykern/core/kernels.h"

namespace polykern {

/// Rates of 1 / sqrt(T) need a T; this, where none is known.
inline constexpr std::size_t kEndlessHorizon = 10'000;

/// All algorithm names, in the order they are shown to users.
std::span<const std::string_view> AlgorithmNames();

/// What a client of an algorithm does in a step, as far as engines other than the CPU's compute it.
enum class ClientHalf {
  kOther,          ///< the CPU alone knows
  kEveryKernel,    ///< sends its gradients of all kernels
  kChosenKernels,  ///< has weights of its own, and sends gradients of the kernels that it draws
  kExperts,        ///< has weights of its own, and sends sums over its samples
};

/// What callers must know of an algorithm besides its name. Constant.
struct AlgorithmTraits {
  std::string_view name = {};
  std::string_view server_sees = {};   ///< of each client, in words
  bool chooses_kernels = false;        ///< kernels_per_upload means something
  bool fills_budget = false;           ///< and unset it is what the budget allows, not 1
  bool takes_late_updates = false;     ///< what a client sends does not depend on the model that it
                                       ///< answers, so that it is as good when it comes late
  bool needs_single_messages = false;  ///< sums over the clients are not enough for its server
  bool any_loss = true;                ///< false: squared alone, of labels in [0, 1]
  bool has_kernels = true;             ///< random features of kernels
  bool takes_bank = true;              ///< it can be made over a KernelBank of the caller's
  ClientHalf client_half = ClientHalf::kOther;
  bool plain_gradients = false;   ///< rates are the server's, and AdaHedge's
  std::size_t least_kernels = 1;  ///< in its dictionary
  double exploration = 1;         ///< xi, unless given
  std::size_t local_memory = 0;   ///< KiB for private experts, unless given; 0: it has none
};

/// Throws Error for an unknown name, as all below do.
const AlgorithmTraits& TraitsOf(std::string_view name);

/// Kernels and losses a client of the algorithm sends per step; no kernels if it sends none, or
/// something else.
Uplink UplinkOf(std::string_view name, const AlgorithmOptions& options);

/// False for an algorithm that needs squared loss when the loss is another one.
bool SuitsLoss(std::string_view name, LossKind loss);

/// xi: the given one, or the algorithm's own.
double ExplorationOf(std::string_view name, const AlgorithmOptions& options);

/// The kernels that it draws features of: its own, or the options' dictionary.
std::vector<Kernel> KernelsOf(std::string_view name, const AlgorithmOptions& options);

/// What a report calls so many experts of an algorithm: their kernels, those that a client has for
/// itself after the federated ones.
std::vector<std::string> ExpertNames(std::string_view name, const AlgorithmOptions& options,
                                     std::size_t experts);

/// D, 0 for an algorithm without kernels.
std::size_t FeaturesOf(std::string_view name, const AlgorithmOptions& options);

/// Throws Error for settings that cannot be.
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
