#include "polykern/algorithms/paper/ofmkl_avg.h"

#include <utility>

#include "polykern/algorithms/paper/every_kernel.h"

namespace polykern {

std::unique_ptr<Algorithm> NewOfmklAvg(std::shared_ptr<const KernelBank> bank,
                                       const AlgorithmOptions& options, const Problem& problem) {
  return NewEveryKernel("ofmkl-avg", Mix::kEqual, std::move(bank), options, problem);
}

}  // namespace polykern
