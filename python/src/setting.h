#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "arrays.h"
#include "bindings.h"

namespace polykern::python {

/// A keyword and its value. TypeError or ValueError if that is something else than is asked for.
struct Setting {
  std::string name;
  py::handle value;

  std::size_t Count() const { return static_cast<std::size_t>(ReadCount(value, name)); }
  double Number() const { return ReadNumber(value, name); }
  std::string Text() const {
    if (!py::isinstance<py::str>(value)) throw py::type_error(name + " must be a str");
    return value.cast<std::string>();
  }
  /// One, or several of them.
  std::vector<std::string> Texts() const {
    if (py::isinstance<py::str>(value)) return {Text()};
    std::vector<std::string> texts;
    for (const py::handle one : py::iter(value)) texts.push_back(Setting{name, one}.Text());
    return texts;
  }
  std::vector<std::size_t> Counts() const {
    if (py::isinstance<py::int_>(value)) return {Count()};
    std::vector<std::size_t> counts;
    for (const py::handle one : py::iter(value)) counts.push_back(Setting{name, one}.Count());
    return counts;
  }
};

}  // namespace polykern::python
