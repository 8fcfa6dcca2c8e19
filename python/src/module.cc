// polykern._core: what the package polykern is made of. Users import polykern.

#include "bindings.h"
#include "polykern/core/error.h"
#include "polykern/core/version.h"
#include "polykern/net/store/store.h"

PYBIND11_MODULE(_core, module) {
  using namespace polykern::python;
  module.attr("__version__") = polykern::Version();
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const polykern::DiskFull& error) {
      PyErr_SetString(PyExc_OSError, error.what());
    } catch (const polykern::Error& error) {
      PyErr_SetString(PyExc_ValueError, error.what());
    }
  });
  BindKernels(module);
  BindAlgorithms(module);
  BindHalves(module);
  BindSimulation(module);
  BindData(module);
  BindOnlineLearner(module);
  BindNetwork(module);
  BindModel(module);
}
