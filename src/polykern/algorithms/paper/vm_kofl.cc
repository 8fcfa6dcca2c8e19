#include "polykern/algorithms/paper/vm_kofl.h"

#include <utility>

#include "polykern/algorithms/paper/every_kernel.h"

namespace polykern {

std::unique_ptr<Algorithm> NewVmKofl(std::shared_ptr<const KernelBank> bank,
                                     const AlgorithmOptions& options, const Problem& problem) {
  return NewEveryKernel("vm-kofl", Mix::kServer, std::move(bank), options, problem);
}

}  // namespace polykern
