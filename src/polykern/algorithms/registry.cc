#include "polykern/algorithms/registry.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "polykern/algorithms/em_kofl.h"
#include "polykern/algorithms/fomd_oms.h"
#include "polykern/algorithms/local.h"
#include "polykern/algorithms/ofmkl_avg.h"
#include "polykern/algorithms/ofskl.h"
#include "polykern/algorithms/perfedavg.h"
#include "polykern/algorithms/pof_adagrad.h"
#include "polykern/algorithms/pof_mkl.h"
#include "polykern/algorithms/vm_kofl.h"
#include "polykern/core/error.h"

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

constexpr std::array<Entry, 9> kEntries = {{
    {"pof-mkl",
     [](const auto& o) {
       return Uplink{"pof-mkl", o.kernels_per_upload, 0};
     },
     NewPofMkl},
    {"pof-adagrad",
     [](const auto& o) {
       return Uplink{"pof-adagrad", o.kernels_per_upload, 0};
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

}  // namespace

std::span<const std::string_view> AlgorithmNames() {
  return kNames;
}

bool ChoosesKernels(std::string_view name) {
  return Find(name).name == "pof-mkl" || name == "pof-adagrad";
}

Uplink UplinkOf(std::string_view name, const AlgorithmOptions& options) {
  return Find(name).uplink(options);
}

std::size_t FeaturesOf(std::string_view name, const AlgorithmOptions& options) {
  const Entry& entry = Find(name);
  return entry.from_bank == nullptr ? 0 : ResolveFeatures(options, entry.uplink(options));
}

void CheckAlgorithm(std::string_view name, const AlgorithmOptions& options) {
  CheckOptions(options, UplinkOf(name, options));
  if (name == "fomd-oms" && options.kernels < 2) {
    throw Error("--kernels is " + std::to_string(options.kernels) +
                "; fomd-oms needs at least 2: raise it, or choose others with --algorithm");
  }
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

}  // namespace polykern
