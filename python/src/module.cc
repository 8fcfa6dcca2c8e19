// polykern._core: what the package polykern is made of. Users import polykern.

#include <regex>

#include "bindings.h"
#include "polykern/core/error.h"
#include "polykern/net/store.h"
#include "polykern/sim/result.h"

namespace polykern::python {

std::string InPythonsWords(const std::string& text) {
  static const std::regex option("--([a-z]+(?:-[a-z]+)*)");
  std::string words;
  std::size_t from = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), option); at != std::sregex_iterator();
       ++at) {
    std::string name = (*at)[1];
    for (char& c : name) c = c == '-' ? '_' : c;
    const auto place = static_cast<std::size_t>(at->position());
    words += text.substr(from, place - from) + name;
    from = place + static_cast<std::size_t>(at->length());
  }
  return words + text.substr(from);
}

}  // namespace polykern::python

PYBIND11_MODULE(_core, module) {
  using namespace polykern::python;
  module.attr("__version__") = polykern::Version();
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const polykern::DiskFull& error) {
      PyErr_SetString(PyExc_OSError, error.what());
    } catch (const polykern::Error& error) {
      PyErr_SetString(PyExc_ValueError, InPythonsWords(error.what()).c_str());
    }
  });
  BindKernels(module);
  BindAlgorithms(module);
  BindHalves(module);
  BindSimulation(module);
  BindData(module);
  BindOnlineLearner(module);
  BindNetwork(module);
}
