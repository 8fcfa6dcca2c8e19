#include "polykern/algorithms/paper/pof_mkl.h"

#include <utility>

#include "polykern/algorithms/paper/chosen_kernels.h"

namespace polykern {

std::unique_ptr<Algorithm> NewPofMkl(std::shared_ptr<const KernelBank> bank,
                                     const AlgorithmOptions& options, const Problem& problem) {
  const auto rate = [&](const std::optional<double>& given) {
    return options.schedule == Schedule::kAnytime
               ? Rate{given.value_or(1), Schedule::kAnytime}
               : Rate{ResolveRate(given, problem), Schedule::kConstant};
  };
  return NewChosenKernels(
      {"pof-mkl", rate(options.learning_rate), rate(options.weight_rate), ServerRule()},
      std::move(bank), options, problem);
}

}  // namespace polykern
