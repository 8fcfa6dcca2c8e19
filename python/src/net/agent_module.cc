// polykern_net._agent: agents, exported models and certificates. Users import polykern.

#include "bindings.h"

PYBIND11_MODULE(_agent, module) {
  using namespace polykern::python;
  BeginModule(module);
  BindAgent(module);
  BindModel(module);
}
