#include "polykern/algorithms/registry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "polykern/algorithms/em_kofl.h"
#include "polykern/algorithms/fomd_oms.h"
#include "polykern/algorithms/local.h"
#include "polykern/algorithms/local_experts.h"
#include "polykern/algorithms/newton_server.h"
#include "polykern/algorithms/ofmkl_avg.h"
#include "polykern/algorithms/ofskl.h"
#include "polykern/algorithms/perfedavg.h"
#include "polykern/algorithms/pof_adagrad.h"
#include "polykern/algorithms/pof_mkl.h"
#include "polykern/algorithms/pof_newton.h"
#include "polykern/algorithms/vm_kofl.h"
#include "polykern/core/error.h"
#include "polykern/core/normal_equations.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

using Bank = std::shared_ptr<const KernelBank>;

/// What it takes to make an algorithm.
struct Entry {
  std::string_view name;
  /// Kernels and losses per step.
  Uplink (*uplink)(const AlgorithmOptions&);
  /// From a bank of the dictionary; null: see MakeAlgorithm.
  std::unique_ptr<Algorithm> (*from_bank)(Bank, const AlgorithmOptions&, const Problem&);
};

/// KiB for local experts: beside federated ones little is enough.
std::size_t LocalMemory(std::string_view name, const AlgorithmOptions& options) {
  return options.local_memory.value_or(name == "local-rls" ? 512 : 128);
}

/// Local experts' features, at most as many as the paper's kernels have.
std::size_t LocalFeatures(std::string_view name, std::size_t kernels,
                          const AlgorithmOptions& options) {
  return LocalExperts::FittingFeatures(kernels, 1024 * LocalMemory(name, options), 100);
}

std::size_t LocalKernels(const AlgorithmOptions& options) {
  return std::min(options.local_kernels, options.kernels);
}

/// Every so-many-th kernel of the dictionary, with features of their own; null: none are wanted.
Bank LocalBank(const AlgorithmOptions& options, const Problem& problem) {
  if (!options.local_experts) return nullptr;
  const auto all = MakeDictionary(options.dictionary, options.kernels);
  const std::size_t count = LocalKernels(options);
  std::vector<Kernel> some;
  for (std::size_t i = 0; i < count; ++i)
    some.push_back(all[(2 * i + 1) * all.size() / (2 * count)]);
  const std::uint64_t own_seed = Random(problem.seed, Purpose::kLocalFeatures).Bits();
  return std::make_shared<const KernelBank>(some, problem.dimension,
                                            LocalFeatures("pof-newton", count, options), own_seed);
}

constexpr std::array<Entry, 11> kEntries = {{
    {"pof-mkl",
     [](const auto& o) {
       return Uplink{"pof-mkl", o.kernels_per_upload.value_or(1), 0};
     },
     NewPofMkl},
    {"pof-newton",
     [](const auto& o) {
       return Uplink{"pof-newton", KernelsPerUpload(o), 0};
     },
     [](Bank bank, const auto& o, const auto& p) {
       return NewPofNewton(std::move(bank), LocalBank(o, p), o, p);
     }},
    {"pof-adagrad",
     [](const auto& o) {
       return Uplink{"pof-adagrad", o.kernels_per_upload.value_or(1), 0};
     },
     NewPofAdagrad},
    {"ofskl",
     [](const auto&) {
       return Uplink{"ofskl", 1, 0};
     },
     NewOfskl},
    {"ofmkl-avg",
     [](const auto& o) {
       return Uplink{"ofmkl-avg", o.kernels, 0};
     },
     NewOfmklAvg},
    {"vm-kofl",
     [](const auto& o) {
       return Uplink{"vm-kofl", o.kernels, o.kernels};
     },
     NewVmKofl},
    {"em-kofl",
     [](const auto& o) {
       return Uplink{"em-kofl", 1, o.kernels};
     },
     NewEmKofl},
    {"fomd-oms",
     [](const auto&) {
       return Uplink{"fomd-oms", 2, 2};
     },
     NewFomdOms},
    {"perfedavg",
     [](const auto&) {
       return Uplink{"perfedavg", 0, 0};
     },
     nullptr},
    {"local",
     [](const auto&) {
       return Uplink{"local", 0, 0};
     },
     NewLocal},
    {"local-rls",
     [](const auto&) {
       return Uplink{"local-rls", 0, 0};
     },
     NewLocalRls},
}};

constexpr auto kNames = [] {
  std::array<std::string_view, kEntries.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kEntries[i].name;
  return names;
}();

const Entry& Find(std::string_view name) {
  const auto* found = std::ranges::find(kEntries, name, &Entry::name);
  if (found != kEntries.end()) return *found;
  std::string known;
  for (const auto candidate : kNames) known += (known.empty() ? "" : ", ") + std::string(candidate);
  throw Error("unknown algorithm '" + std::string(name) + "'; there are: " + known);
}

std::vector<Kernel> KernelsOf(std::string_view name, const AlgorithmOptions& options) {
  if (name == "ofskl") return {{KernelKind::kGaussian, std::sqrt(options.single_bandwidth)}};
  return MakeDictionary(options.dictionary, options.kernels);
}

void CheckNewtonMemory(const AlgorithmOptions& options) {
  const std::size_t width =
      2 * ResolveFeatures(options, {"pof-newton", KernelsPerUpload(options), 0});
  const double mebibytes =
      static_cast<double>(options.kernels) * NormalEquations::Bytes(width) / 0x1p20;
  if (mebibytes <= static_cast<double>(options.server_memory)) return;
  throw Error("--server-memory is " + std::to_string(options.server_memory) +
              " MiB, but the regressions of " + std::to_string(options.kernels) + " kernels with " +
              std::to_string(width / 2) + " features take " +
              std::to_string(static_cast<std::uint64_t>(std::min(std::ceil(mebibytes), 0x1p63))) +
              " MiB: raise it, or lower --kernels or --features");
}

}  // namespace

std::span<const std::string_view> AlgorithmNames() {
  return kNames;
}

bool ChoosesKernels(std::string_view name) {
  return Find(name).name.starts_with("pof-");
}

Uplink UplinkOf(std::string_view name, const AlgorithmOptions& options) {
  return Find(name).uplink(options);
}

std::size_t FeaturesOf(std::string_view name, const AlgorithmOptions& options) {
  const Entry& entry = Find(name);
  if (entry.from_bank == nullptr) return 0;
  if (name == "local-rls") {  // a client's memory limits it, as the budget limits others
    return std::min(options.features.value_or(SIZE_MAX),
                    LocalFeatures(name, options.kernels, options));
  }
  return ResolveFeatures(options, entry.uplink(options));
}

void CheckAlgorithm(std::string_view name, const AlgorithmOptions& options) {
  CheckOptions(options, UplinkOf(name, options));
  if (name == "fomd-oms" && options.kernels < 2) {
    throw Error("--kernels is " + std::to_string(options.kernels) +
                "; fomd-oms needs at least 2: raise it, or choose others with --algorithm");
  }
  if (!SuitsLoss(name, options.loss.kind)) {
    throw Error("--loss must be squared for " + std::string(name) +
                ": leave it out, or choose others with --algorithm");
  }
  if (name == "pof-newton") CheckNewtonMemory(options);
  if (name == "local-rls" || (name == "pof-newton" && options.local_experts)) {
    const std::size_t experts = name == "local-rls" ? options.kernels : LocalKernels(options);
    if (LocalFeatures(name, experts, options) == 0) {
      throw Error("--local-memory is " + std::to_string(LocalMemory(name, options)) +
                  " KiB, too little for " + std::to_string(experts) +
                  " private experts: raise it, or lower " +
                  (name == "local-rls" ? "--kernels" : "--local-kernels"));
    }
  }
}

bool SuitsLoss(std::string_view name, LossKind loss) {
  return loss == LossKind::kSquared || (Find(name).name != "pof-newton" && name != "local-rls");
}

bool UsesLateUpdates(std::string_view name) {
  // pof-newton sends features and labels; the local ones send nothing at all.
  return Find(name).name == "pof-newton" || name == "local" || name == "local-rls";
}

double ExplorationOf(std::string_view name, const AlgorithmOptions& options) {
  return options.exploration.value_or(name == "pof-newton" ? kNewtonExploration : 1);
}

std::unique_ptr<Algorithm> MakeAlgorithm(std::string_view name, const AlgorithmOptions& options,
                                         const Problem& problem) {
  CheckAlgorithm(name, options);
  const Entry& entry = Find(name);
  if (entry.from_bank == nullptr) return NewPerFedAvg(options, problem);
  return entry.from_bank(
      std::make_shared<const KernelBank>(KernelsOf(name, options), problem.dimension,
                                         FeaturesOf(name, options), problem.seed,
                                         options.orthogonal     ? Draw::kOrthogonal
                                         : options.shared_draws ? Draw::kShared
                                                                : Draw::kIndependent),
      options, problem);
}

std::unique_ptr<Algorithm> MakeAlgorithm(std::string_view name,
                                         std::shared_ptr<const KernelBank> bank,
                                         AlgorithmOptions options, Problem problem) {
  const Entry& entry = Find(name);
  if (entry.from_bank == nullptr) {
    throw Error(std::string(name) + " has no kernels: it takes no bank");
  }
  if (name == "ofskl" && bank->kernels() != 1) {
    throw Error("ofskl has one kernel, but the bank has " + std::to_string(bank->kernels()));
  }
  options.kernels = bank->kernels();
  options.features = bank->features();
  problem.dimension = bank->dimension();
  CheckAlgorithm(name, options);
  if (name == "local-rls" && FeaturesOf(name, options) < bank->features()) {
    throw Error("--local-memory is " + std::to_string(LocalMemory(name, options)) +
                " KiB, but the bank's " + std::to_string(bank->features()) +
                " features per kernel do not fit: raise it, or take at most " +
                std::to_string(FeaturesOf(name, options)));
  }
  return entry.from_bank(std::move(bank), options, problem);
}

}  // namespace polykern
