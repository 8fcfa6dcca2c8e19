#include "polykern/algorithms/paper/ofmkl_avg.h"

#include <utility>

#include "polykern/algorithms/paper/every_kernel.h"

namespace polykern {

std::unique_ptr<Algorithm> NewOfmklAvg(AlgorithmDefinition definition) {
  return NewEveryKernel("ofmkl-avg", Mix::kEqual, std::move(definition));
}

}  // namespace polykern
