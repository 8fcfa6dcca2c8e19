#include "polykern/algorithms/paper/ofskl.h"

#include <cassert>
#include <utility>

#include "polykern/algorithms/paper/every_kernel.h"
#include "polykern/core/kernels.h"

namespace polykern {

std::unique_ptr<Algorithm> NewOfskl(AlgorithmDefinition definition) {
  assert(definition.bank->kernels() == 1);
  return NewEveryKernel("ofskl", Mix::kEqual, std::move(definition));
}

}  // namespace polykern
