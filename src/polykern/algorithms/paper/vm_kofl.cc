#include "polykern/algorithms/paper/vm_kofl.h"

#include <utility>

#include "polykern/algorithms/paper/every_kernel.h"

namespace polykern {

std::unique_ptr<Algorithm> NewVmKofl(AlgorithmDefinition definition) {
  return NewEveryKernel("vm-kofl", Mix::kServer, std::move(definition));
}

}  // namespace polykern
