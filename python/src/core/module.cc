// polykern._core: what the package polykern is made of, without the network. Users import polykern.

#include "bindings.h"

PYBIND11_MODULE(_core, module) {
  using namespace polykern::python;
  BeginModule(module);
  BindKernels(module);
  BindAlgorithms(module);
  BindHalves(module);
  BindSimulation(module);
  BindData(module);
  BindOnlineLearner(module);
}
