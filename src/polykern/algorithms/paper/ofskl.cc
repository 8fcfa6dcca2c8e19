#include "polykern/algorithms/paper/ofskl.h"

#include <cassert>
#include <utility>

#include "polykern/algorithms/paper/every_kernel.h"

namespace polykern {

std::unique_ptr<Algorithm> NewOfskl(std::shared_ptr<const KernelBank> bank,
                                    const AlgorithmOptions& options, const Problem& problem) {
  assert(bank->kernels() == 1);
  return NewEveryKernel("ofskl", Mix::kEqual, std::move(bank), options, problem);
}

}  // namespace polykern
