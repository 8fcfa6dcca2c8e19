#include "polykern/algorithms/registry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "polykern/algorithms/alone/local.h"
#include "polykern/algorithms/alone/local_rls.h"
#include "polykern/algorithms/gram/gram_grid.h"
#include "polykern/algorithms/gram/pof_gram.h"
#include "polykern/algorithms/option_values.h"
#include "polykern/algorithms/paper/em_kofl.h"
#include "polykern/algorithms/paper/fomd_oms.h"
#include "polykern/algorithms/paper/ofmkl_avg.h"
#include "polykern/algorithms/paper/ofskl.h"
#include "polykern/algorithms/paper/perfedavg.h"
#include "polykern/algorithms/paper/pof_mkl.h"
#include "polykern/algorithms/paper/vm_kofl.h"
#include "polykern/algorithms/shared/local_experts.h"
#include "polykern/algorithms/shared/tracking.h"
#include "polykern/algorithms/successors/fed_poe.h"
#include "polykern/algorithms/successors/newton_server.h"
#include "polykern/algorithms/successors/pof_adagrad.h"
#include "polykern/algorithms/successors/pof_newton.h"
#include "polykern/core/error.h"
#include "polykern/core/normal_equations.h"
#include "polykern/core/random.h"
#include "polykern/core/text.h"

namespace polykern {
namespace {

using Bank = std::shared_ptr<const KernelBank>;

/// What it takes to make an algorithm.
struct Entry {
  AlgorithmTraits traits;
  /// Kernels and losses per step.
  Uplink (*uplink)(const AlgorithmOptions&);
  /// The bank is of the dictionary, null where there are no kernels.
  std::unique_ptr<Algorithm> (*make)(AlgorithmDefinition);
  /// The kernels of its bank, if they are not the dictionary's.
  std::vector<Kernel> (*own_kernels)(const AlgorithmOptions&) = nullptr;
  /// Private experts of a client; null: it has none.
  std::size_t (*local_experts)(const AlgorithmOptions&) = nullptr;
  std::string_view local_option = {};  ///< which sets their number
  /// What its experts are called, if not by their kernels.
  std::vector<std::string> (*expert_names)(const AlgorithmOptions&) = nullptr;
  /// Features of a kernel, where the budget allows them otherwise than by the uplink.
  std::size_t (*own_features)(const AlgorithmOptions&) = nullptr;
  bool orthogonal = false;  ///< its features always are
  /// Throws Error for settings that CheckOptions cannot judge; null: there are none.
  void (*check)(const AlgorithmOptions&) = nullptr;
};

std::size_t NewtonLocalExperts(const AlgorithmOptions& options) {
  if (options.experts == Experts::kFederated) return 0;
  return std::min(options.local_kernels, options.kernels);
}

/// With noise the federated expert knows less: more private ones compensate.
std::size_t GramLocalExperts(const AlgorithmOptions& options) {
  if (options.experts == Experts::kFederated) return 0;
  return options.local_kernels * (options.epsilon > 0 ? 3 : 1);
}

/// Some of the paper's Gaussians, from the first to the last of them that is wanted, evenly spaced.
std::vector<Kernel> SomeGaussians(std::size_t count, std::size_t last) {
  const auto all = MakeDictionary("gaussian", 51);
  std::vector<Kernel> some;
  for (std::size_t i = 0; i < count; ++i) {
    some.push_back(all[count > 1 ? (2 * i * last + count - 1) / (2 * (count - 1)) : last / 2]);
  }
  return some;
}

/// pof-gram's bandwidths: with several sizes for each, few are enough. Wider ones than 5 help
/// none here: labels have an intercept.
constexpr std::size_t kGramKernels = 4;
constexpr std::size_t kGramWidest = 34;       // sigma = 5.25
constexpr std::size_t kGramWidestLocal = 38;  // sigma = 11

/// With noise one kernel: each more would add noise to all. sigma = 0.1
constexpr Kernel kNoisyKernel = {KernelKind::kGaussian, 0.316227766};

std::vector<Kernel> GramKernels(const AlgorithmOptions& options) {
  if (options.epsilon > 0) return {kNoisyKernel};
  return SomeGaussians(kGramKernels, kGramWidest);
}
std::size_t GramFeatures(const AlgorithmOptions& options) {
  if (options.epsilon > 0) return GramGrid::LargestNoisySize(options);
  return GramGrid::LargestSize(kGramKernels, options);
}
std::vector<std::string> GramExpertNames(const AlgorithmOptions& options) {
  const GramGrid grid = options.epsilon > 0 ? GramGrid::Noisy(GramFeatures(options))
                                            : GramGrid(kGramKernels, GramFeatures(options));
  const auto kernels = GramKernels(options);
  std::vector<std::string> names;
  for (std::size_t e = 0; e < grid.experts(); ++e) {
    names.push_back(KernelText(kernels[grid.KernelOf(e)]) +
                    ", D = " + std::to_string(grid.SizeOf(e)));
  }
  return names;
}
void CheckGram(const AlgorithmOptions& options) {
  if (options.masking == Masking::kPairwise && options.epsilon > 0) {
    throw Error(OptionName("epsilon") + " cannot be combined with " +
                OptionName("masking", "pairwise") +
                ": no other process adds the noise before the server sees the sum; use " +
                OptionName("masking", "helper"));
  }
  if (GramFeatures(options) > 0) return;
  const std::size_t least = options.epsilon > 0
                                ? GramGrid::Noisy(GramGrid::kNoisySizes[0]).NumbersOf(0)
                                : GramGrid(kGramKernels, GramGrid::kSizes[0]).NumbersOf(0);
  throw Error(OptionName("budget") + " is " + std::to_string(options.budget) + " and " +
              OptionName("burst") + " " + std::to_string(options.burst) +
              ", but the smallest message of pof-gram has " + std::to_string(least) +
              " numbers: raise one of them");
}

/// Local experts' features, at most as many as the paper's kernels have.
std::size_t LocalFeatures(std::size_t experts, std::size_t kibibytes) {
  return LocalExperts::FittingFeatures(experts, 1024 * kibibytes, 100);
}

/// KiB for a client's private experts beside federated ones: little is enough.
constexpr std::size_t kLocalMemory = 128;

/// Every so-many-th kernel of the dictionary, with features of their own; null: none are wanted.
Bank LocalBank(const AlgorithmOptions& options, const Problem& problem) {
  const std::size_t count = NewtonLocalExperts(options);
  if (count == 0) return nullptr;
  const auto all = MakeDictionary(options.dictionary, options.kernels);
  std::vector<Kernel> some;
  for (std::size_t i = 0; i < count; ++i)
    some.push_back(all[(2 * i + 1) * all.size() / (2 * count)]);
  const std::uint64_t own_seed = Random(problem.seed, Purpose::kLocalFeatures).Bits();
  return std::make_shared<const KernelBank>(
      some, problem.dimension, LocalFeatures(count, options.local_memory.value_or(kLocalMemory)),
      own_seed);
}

/// One of each of its rules for a bandwidth, all with features of their own; null: none are wanted.
Bank GramLocalBank(const AlgorithmOptions& options, const Problem& problem) {
  const std::size_t count = GramLocalExperts(options);
  if (count == 0) return nullptr;
  const std::size_t rules = GramLocalRules(options).size();
  const auto bandwidths = SomeGaussians((count + rules - 1) / rules, kGramWidestLocal);
  std::vector<Kernel> kernels;
  for (std::size_t i = 0; i < count; ++i) kernels.push_back(bandwidths[i / rules]);
  return std::make_shared<const KernelBank>(
      kernels, problem.dimension, LocalFeatures(count, options.local_memory.value_or(kLocalMemory)),
      Random(problem.seed, Purpose::kLocalFeatures).Bits(), Draw::kOrthogonal);
}

void CheckNewtonMemory(const AlgorithmOptions& options) {
  const std::size_t width =
      2 * ResolveFeatures(options, {"pof-newton", KernelsPerUpload(options), 0});
  const double mebibytes =
      static_cast<double>(options.kernels) * NormalEquations::Bytes(width) / 0x1p20;
  if (mebibytes <= static_cast<double>(options.server_memory)) return;
  throw Error(OptionName("server_memory") + " is " + std::to_string(options.server_memory) +
              " MiB, but the regressions of " + std::to_string(options.kernels) + " kernels with " +
              std::to_string(width / 2) + " features take " +
              std::to_string(static_cast<std::uint64_t>(std::min(std::ceil(mebibytes), 0x1p63))) +
              " MiB: raise it, or lower " + OptionName("kernels") + " or " +
              OptionName("features"));
}

/// Gaussians of these bandwidths: squared lengths, as everywhere.
std::vector<Kernel> Gaussians(std::initializer_list<double> bandwidths) {
  std::vector<Kernel> kernels;
  for (const double sigma : bandwidths)
    kernels.push_back({KernelKind::kGaussian, std::sqrt(sigma)});
  return kernels;
}

// What a server sees of each client.
constexpr std::string_view kEachUpdate = "each update, from which its sample can be computed";
constexpr std::string_view kNothing = "only when it takes part";

// clang-format off: an algorithm is a paragraph.
constexpr Entry kEntries[] = {
    {.traits = {.name = "pof-mkl",
                .server_sees = kEachUpdate,
                .chooses_kernels = true,
                .client_half = ClientHalf::kChosenKernels},
     .uplink = [](const auto& o) { return Uplink{.kernels = o.kernels_per_upload.value_or(1)}; },
     .make = NewPofMkl},
    {.traits = {.name = "pof-newton",
                .server_sees = "each sample: its label, and inputs that can be computed",
                .chooses_kernels = true,
                .fills_budget = true,
                .takes_late_updates = true,
                .needs_single_messages = true,
                .any_loss = false,
                .exploration = kNewtonExploration,
                .local_memory = kLocalMemory},
     .uplink = [](const auto& o) { return Uplink{.kernels = KernelsPerUpload(o)}; },
     .make =
         [](AlgorithmDefinition d) {
           d.local_bank = LocalBank(d.options, d.problem);
           return NewPofNewton(std::move(d));
         },
     .local_experts = NewtonLocalExperts,
     .local_option = "local_kernels",
     .check = CheckNewtonMemory},
    {.traits = {.name = "pof-gram",
                .server_sees = "sums over its samples",
                .takes_late_updates = true,
                .any_loss = false,
                .takes_bank = false,
                .client_half = ClientHalf::kExperts,
                .exploration = kGramExploration,
                .local_memory = kLocalMemory},
     .uplink = [](const auto&) { return Uplink{}; },
     .make =
         [](AlgorithmDefinition d) {
           d.local_bank = GramLocalBank(d.options, d.problem);
           return NewPofGram(std::move(d));
         },
     .own_kernels = GramKernels,
     .local_experts = GramLocalExperts,
     .local_option = "local_kernels",
     .expert_names = GramExpertNames,
     .own_features = GramFeatures,
     .orthogonal = true,
     .check = CheckGram},
    {.traits = {.name = "pof-adagrad",
                .server_sees = kEachUpdate,
                .chooses_kernels = true,
                .client_half = ClientHalf::kChosenKernels,
                .plain_gradients = true},
     .uplink = [](const auto& o) { return Uplink{.kernels = o.kernels_per_upload.value_or(1)}; },
     .make = NewPofAdagrad},
    {.traits = {.name = "ofskl",
                .server_sees = kEachUpdate,
                .client_half = ClientHalf::kEveryKernel},
     .uplink = [](const auto&) { return Uplink{.kernels = 1}; },
     .make = NewOfskl,
     .own_kernels = [](const auto& o) { return Gaussians({o.single_bandwidth}); }},
    {.traits = {.name = "ofmkl-avg",
                .server_sees = kEachUpdate,
                .client_half = ClientHalf::kEveryKernel},
     .uplink = [](const auto& o) { return Uplink{.kernels = o.kernels}; },
     .make = NewOfmklAvg},
    {.traits = {.name = "vm-kofl",
                .server_sees = kEachUpdate,
                .client_half = ClientHalf::kEveryKernel},
     .uplink = [](const auto& o) { return Uplink{.kernels = o.kernels, .losses = o.kernels}; },
     .make = NewVmKofl},
    {.traits = {.name = "em-kofl", .server_sees = kEachUpdate},
     .uplink = [](const auto& o) { return Uplink{.kernels = 1, .losses = o.kernels}; },
     .make = NewEmKofl},
    {.traits = {.name = "fomd-oms", .server_sees = kEachUpdate, .least_kernels = 2},
     .uplink = [](const auto&) { return Uplink{.kernels = 2, .losses = 2}; },
     .make = NewFomdOms},
    {.traits = {.name = "fed-poe", .server_sees = kEachUpdate},
     .uplink = [](const auto&) { return Uplink{.kernels = 3}; },
     .make = NewFedPoe,
     .own_kernels =
         [](const auto&) {
           return Gaussians({0.1, 1, 10});
         }},
    {.traits = {.name = "perfedavg",
                .server_sees = kEachUpdate,
                .has_kernels = false,
                .takes_bank = false},
     .uplink = [](const auto&) { return Uplink{}; },
     .make = NewPerFedAvg},
    {.traits = {.name = "local", .server_sees = kNothing, .takes_late_updates = true},
     .uplink = [](const auto&) { return Uplink{}; },
     .make = NewLocal},
    {.traits = {.name = "local-rls",
                .server_sees = kNothing,
                .takes_late_updates = true,
                .any_loss = false,
                .local_memory = 512},
     .uplink = [](const auto&) { return Uplink{}; },
     .make = NewLocalRls,
     .local_experts = [](const auto& o) { return o.kernels; },
     .local_option = "kernels"},
};
// clang-format on

constexpr auto kNames = [] {
  std::array<std::string_view, std::size(kEntries)> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kEntries[i].traits.name;
  return names;
}();

const Entry& Find(std::string_view name) {
  for (const Entry& entry : kEntries) {
    if (entry.traits.name == name) return entry;
  }
  throw Error("unknown algorithm '" + std::string(name) + "'; " + OptionName("algorithm") +
              " is one of: " + Joined(kNames));
}

std::size_t LocalMemory(const Entry& entry, const AlgorithmOptions& options) {
  return options.local_memory.value_or(entry.traits.local_memory);
}

/// With kAutoForgetting a client also knows its last label, if that comes at once.
std::unique_ptr<Algorithm> Make(const Entry& entry, AlgorithmDefinition definition) {
  const bool tracks = definition.options.forgetting == kAutoForgetting &&
                      definition.problem.ahead == 1 &&
                      UsesOption(entry.traits.name, *FindOption("forgetting"));
  auto made = entry.make(std::move(definition));
  return tracks ? NewTracking(std::move(made)) : std::move(made);
}

void CheckLocalMemory(const Entry& entry, const AlgorithmOptions& options) {
  if (entry.local_experts == nullptr) return;
  const std::size_t experts = entry.local_experts(options);
  const std::size_t memory = LocalMemory(entry, options);
  if (experts == 0 || LocalFeatures(experts, memory) > 0) return;
  throw Error(OptionName("local_memory") + " is " + std::to_string(memory) +
              " KiB, too little for " + std::to_string(experts) +
              " private experts: raise it, or lower " + OptionName(entry.local_option));
}

}  // namespace

std::span<const std::string_view> AlgorithmNames() {
  return kNames;
}

const AlgorithmTraits& TraitsOf(std::string_view name) {
  return Find(name).traits;
}

Uplink UplinkOf(std::string_view name, const AlgorithmOptions& options) {
  const Entry& entry = Find(name);
  Uplink uplink = entry.uplink(options);
  uplink.algorithm = entry.traits.name;
  return uplink;
}

std::vector<Kernel> KernelsOf(std::string_view name, const AlgorithmOptions& options) {
  const Entry& entry = Find(name);
  if (entry.own_kernels != nullptr) return entry.own_kernels(options);
  return MakeDictionary(options.dictionary, options.kernels);
}

std::vector<std::string> ExpertNames(std::string_view name, const AlgorithmOptions& options,
                                     std::size_t experts) {
  const Entry& entry = Find(name);
  if (entry.expert_names != nullptr) return entry.expert_names(options);
  AlgorithmOptions own = options;
  own.kernels = experts;
  const auto kernels = KernelsOf(name, own);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < experts; ++i) {
    names.push_back((i < kernels.size() ? "" : "local ") + KernelText(kernels[i % kernels.size()]));
  }
  return names;
}

std::size_t FeaturesOf(std::string_view name, const AlgorithmOptions& options) {
  const Entry& entry = Find(name);
  if (!entry.traits.has_kernels) return 0;
  if (entry.own_features != nullptr) return entry.own_features(options);
  const Uplink uplink = UplinkOf(name, options);
  if (entry.local_experts != nullptr && uplink.kernels == 0) {
    // A client's memory limits it, as the budget limits others.
    return std::min(options.features.value_or(SIZE_MAX),
                    LocalFeatures(entry.local_experts(options), LocalMemory(entry, options)));
  }
  return ResolveFeatures(options, uplink);
}

void CheckAlgorithm(std::string_view name, const AlgorithmOptions& options) {
  const Entry& entry = Find(name);
  CheckOptions(options, UplinkOf(name, options));
  if (options.kernels < entry.traits.least_kernels) {
    throw Error(OptionName("kernels") + " is " + std::to_string(options.kernels) + "; " +
                std::string(name) + " needs at least " +
                std::to_string(entry.traits.least_kernels) + ": raise it, or choose others with " +
                OptionName("algorithm"));
  }
  if (!SuitsLoss(name, options.loss)) {
    throw Error(OptionName("loss") + " must be squared for " + std::string(name) +
                ": leave it out, or choose an algorithm that can, such as " +
                OptionName("algorithm", "pof-adagrad"));
  }
  if (entry.check != nullptr) entry.check(options);
  CheckLocalMemory(entry, options);
}

bool SuitsLoss(std::string_view name, LossKind loss) {
  return loss == LossKind::kSquared || TraitsOf(name).any_loss;
}

double ExplorationOf(std::string_view name, const AlgorithmOptions& options) {
  return options.exploration.value_or(TraitsOf(name).exploration);
}

std::unique_ptr<Algorithm> MakeAlgorithm(std::string_view name, const AlgorithmOptions& options,
                                         const Problem& problem) {
  CheckAlgorithm(name, options);
  const Entry& entry = Find(name);
  if (!entry.traits.has_kernels) return Make(entry, {nullptr, options, problem});
  const bool draws = UsesOption(name, *FindOption("orthogonal"));  // and shared_draws
  const Draw draw = entry.orthogonal || (draws && options.orthogonal) ? Draw::kOrthogonal
                    : draws && options.shared_draws                   ? Draw::kShared
                                                                      : Draw::kIndependent;
  return Make(entry,
              {std::make_shared<const KernelBank>(KernelsOf(name, options), problem.dimension,
                                                  FeaturesOf(name, options), problem.seed, draw),
               options, problem});
}

std::unique_ptr<Algorithm> MakeAlgorithm(std::string_view name,
                                         std::shared_ptr<const KernelBank> bank,
                                         AlgorithmOptions options, Problem problem) {
  const Entry& entry = Find(name);
  if (!entry.traits.takes_bank) {
    throw Error(std::string(name) + " has " + (entry.traits.has_kernels ? "its own" : "no") +
                " kernels: it takes no bank");
  }
  if (entry.own_kernels != nullptr) {
    if (const auto own = entry.own_kernels(options).size(); own != bank->kernels()) {
      throw Error(std::string(name) + " has " + std::to_string(own) +
                  (own == 1 ? " kernel" : " kernels") + ", but the bank has " +
                  std::to_string(bank->kernels()));
    }
  }
  options.kernels = bank->kernels();
  options.features = bank->features();
  problem.dimension = bank->dimension();
  CheckAlgorithm(name, options);
  if (const std::size_t fitting = FeaturesOf(name, options); fitting < bank->features()) {
    throw Error(OptionName("local_memory") + " is " + std::to_string(LocalMemory(entry, options)) +
                " KiB, but the bank's " + std::to_string(bank->features()) +
                " features per kernel do not fit: raise it, or take at most " +
                std::to_string(fitting));
  }
  return Make(entry, {std::move(bank), options, problem});
}

}  // namespace polykern
