// What all modules share: how they begin, and keywords.

#include <concepts>
#include <map>
#include <string>
#include <variant>

#include "arrays.h"
#include "bindings.h"
#include "polykern/algorithms/option_values.h"
#include "polykern/algorithms/options.h"
#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/core/version.h"

namespace polykern::python {
namespace {

std::string Text(const py::handle& value, const std::string& name) {
  if (!py::isinstance<py::str>(value)) throw py::type_error(name + " must be a str");
  return value.cast<std::string>();
}

std::string YesOrNo(const py::handle& value, const std::string& name) {
  if (!py::isinstance<py::bool_>(value)) throw py::type_error(name + " must be True or False");
  return value.cast<bool>() ? "yes" : "no";
}

/// A value from Python as SetOption's text, if it is of the field's type.
std::string TextFor(const OptionDeclaration& option, const py::handle& value,
                    const std::string& name) {
  using O = AlgorithmOptions;
  return std::visit(
      [&]<typename T>(T O::*) -> std::string {
        if constexpr (std::same_as<T, bool>) return YesOrNo(value, name);
        if (!option.zero.empty() && py::isinstance<py::str>(value)) return Text(value, name);
        if constexpr (std::same_as<T, double> || std::same_as<T, std::optional<double>>) {
          return ExactText(ReadNumber(value, name));
        }
        if constexpr (std::same_as<T, std::size_t> || std::same_as<T, std::optional<std::size_t>>) {
          return std::to_string(ReadCount(value, name));
        }
        return Text(value, name);
      },
      option.field);
}

}  // namespace

std::map<std::string, std::string> OptionTexts(const py::dict& settings) {
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : settings) {
    const auto name = Text(key, "the name of an option");
    if (name == "local_experts") {  // what it was called before it had a name in the program
      if (!value.is_none()) {
        texts["experts"] = YesOrNo(value, name) == "yes" ? "federated,local" : "federated";
      }
      continue;
    }
    const OptionDeclaration* option = FindOption(name);
    if (option == nullptr) throw py::type_error("there is no option '" + name + "'");
    if (!value.is_none()) texts[name] = TextFor(*option, value, name);
  }
  return texts;
}

std::uint64_t ReadCount(const py::handle& object, const std::string& name, std::uint64_t least) {
  if (PyIndex_Check(object.ptr()) == 0 || py::isinstance<py::bool_>(object)) {
    throw py::type_error(name + " must be a whole number");
  }
  const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(object.ptr()));
  if (!number) throw py::error_already_set();
  const unsigned long long value = PyLong_AsUnsignedLongLong(number.ptr());
  const bool outside = PyErr_Occurred() != nullptr;
  PyErr_Clear();
  if (outside || value < least) {
    throw py::value_error(name + " is " + std::string(py::str(number)) + "; it must be " +
                          (outside && least == 0 ? "0 or more, and below 2^64"
                                                 : "at least " + std::to_string(least)));
  }
  return value;
}

void BeginModule(py::module_& module) {
  module.attr("__version__") = Version();
  py::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      PyErr_SetString(PyExc_ValueError, error.what());
    }
  });
}

}  // namespace polykern::python
