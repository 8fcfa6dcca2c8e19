// polykern_net._server: servers. Users import polykern.

#include "bindings.h"
#include "polykern/net/store/store.h"

PYBIND11_MODULE(_server, module) {
  using namespace polykern::python;
  BeginModule(module);
  py::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const polykern::DiskFull& error) {
      PyErr_SetString(PyExc_OSError, error.what());
    }
  });
  BindServer(module);
}
