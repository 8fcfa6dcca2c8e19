#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "polykern/data/stream.h"

namespace polykern::python {

namespace py = pybind11;

/// NumPy in and out. What comes from a user is judged here: TypeError for what are not numbers,
/// ValueError that names both shapes, and the place of a number that is not finite.

/// An array of floats or doubles as it lies in memory; anything else that holds numbers is
/// converted to doubles. `name` is what the user calls it.
py::array Numbers(const py::handle& object, const std::string& name);

/// "(3, 4)".
std::string ShapeText(const py::array& array);

/// Throws ValueError unless the array has this shape; -1 stands for any size. `rule` says in words
/// what was wanted: "(T, K, d)".
void CheckShape(const py::array& array, const std::string& name,
                const std::vector<py::ssize_t>& shape, const std::string& rule);

/// An array of up to three axes, which may be missing in front (one step, one client).
ArrayView ViewOf(const py::array& array);

/// Throws ValueError with the place of the first number that is not finite, or too large to be a
/// float if `as_float`. `present` (steps x clients) says which to look at; empty: all.
void CheckFinite(const py::array& array, const std::string& name, bool as_float,
                 std::span<const std::uint8_t> present = {});

/// One sample of `dimension` inputs.
void ReadSample(const py::handle& object, const std::string& name, std::size_t dimension,
                std::vector<float>& sample);

/// One finite number; TypeError for what is not a number.
double ReadNumber(const py::handle& object, const std::string& name);

/// An array over numbers that live as long as `owner`; it is read-only.
template <typename Number>
py::array View(std::vector<py::ssize_t> shape, const Number* data,
               std::shared_ptr<const void> owner) {
  const py::capsule keeper(new std::shared_ptr<const void>(std::move(owner)), [](void* held) {
    delete static_cast<std::shared_ptr<const void>*>(held);
  });
  py::array array(py::dtype::of<Number>(), std::move(shape), data, keeper);
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

/// An array that takes the numbers over.
template <typename Number>
py::array Taken(std::vector<py::ssize_t> shape, std::vector<Number> numbers) {
  auto* held = new std::vector<Number>(std::move(numbers));
  const py::capsule keeper(held, [](void* p) { delete static_cast<std::vector<Number>*>(p); });
  return py::array(py::dtype::of<Number>(), std::move(shape), held->data(), keeper);
}

}  // namespace polykern::python
