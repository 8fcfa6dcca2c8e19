#include "arrays.h"

#include <cfloat>
#include <cmath>

namespace polykern::python {
namespace {

std::string TypeName(const py::handle& object) {
  return py::str(py::type::handle_of(object).attr("__name__"));
}

[[noreturn]] void NoNumbers(const std::string& name, const std::string& what) {
  throw py::type_error(name + " " + what + ", not numbers");
}

/// "[3, 0, 2]" of an array's element, counted in C order.
std::string Place(const py::array& array, std::size_t index) {
  std::vector<std::size_t> places(static_cast<std::size_t>(array.ndim()));
  for (std::size_t axis = places.size(); axis-- > 0;) {
    const auto size = static_cast<std::size_t>(array.shape(static_cast<py::ssize_t>(axis)));
    places[axis] = index % size;
    index /= size;
  }
  std::string text = "[";
  for (std::size_t axis = 0; axis < places.size(); ++axis) {
    text += (axis > 0 ? ", " : "") + std::to_string(places[axis]);
  }
  return text + "]";
}

std::string Text(double number) {
  return py::repr(py::float_(number));
}

/// The first number that cannot be used, in C order; count if there is none.
template <typename Number>
std::size_t FirstBad(const std::byte* data, std::ptrdiff_t stride, std::size_t count, double most) {
  const auto at = [&](std::size_t i) {
    return static_cast<double>(
        *reinterpret_cast<const Number*>(data + static_cast<std::ptrdiff_t>(i) * stride));
  };
  // Most rows are good: one pass that the compiler can vectorise says so.
  bool good = true;
  for (std::size_t i = 0; i < count; ++i) good &= std::fabs(at(i)) <= most;
  if (good) return count;
  std::size_t i = 0;
  while (std::fabs(at(i)) <= most) ++i;
  return i;
}

}  // namespace

py::array Numbers(const py::handle& object, const std::string& name) {
  if (py::isinstance<py::str>(object) || py::isinstance<py::bytes>(object) || object.is_none() ||
      py::isinstance<py::dict>(object)) {
    NoNumbers(name, "is of the type " + TypeName(object));
  }
  const py::array array = py::module_::import("numpy").attr("asarray")(object);
  const char kind = array.dtype().kind();
  const auto size = array.dtype().itemsize();
  if (kind == 'f' && (size == 4 || size == 8) && array.dtype().attr("isnative").cast<bool>() &&
      array.attr("flags").attr("aligned").cast<bool>()) {
    return array;
  }
  if (kind == 'O') {
    try {
      return py::array(array.attr("astype")("float64"));
    } catch (const py::error_already_set& error) {
      if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_ValueError)) throw;
      NoNumbers(name, "holds Python objects");
    }
  }
  if (kind != 'f' && kind != 'i' && kind != 'u' && kind != 'b') {
    NoNumbers(name, "holds " + std::string(py::str(array.dtype())));
  }
  return py::array(array.attr("astype")("float64"));
}

std::string ShapeText(const py::array& array) {
  return py::str(array.attr("shape"));
}

void CheckShape(const py::array& array, const std::string& name,
                const std::vector<py::ssize_t>& shape, const std::string& rule) {
  bool fits = array.ndim() == static_cast<py::ssize_t>(shape.size());
  for (std::size_t axis = 0; fits && axis < shape.size(); ++axis) {
    fits = shape[axis] == -1 || array.shape(static_cast<py::ssize_t>(axis)) == shape[axis];
  }
  if (!fits) {
    throw py::value_error(name + " has the shape " + ShapeText(array) + ", but it must be " + rule);
  }
}

ArrayView ViewOf(const py::array& array) {
  ArrayView view;
  view.data = static_cast<const std::byte*>(array.data());
  view.is_double = array.itemsize() == 8;
  const auto axes = static_cast<std::size_t>(array.ndim());
  for (std::size_t axis = 0; axis < axes; ++axis) {
    view.strides[axis] = array.strides(static_cast<py::ssize_t>(axis));
  }
  return view;
}

void CheckFinite(const py::array& array, const std::string& name, bool as_float,
                 std::span<const std::uint8_t> present) {
  if (array.size() == 0) return;
  const auto axes = static_cast<std::size_t>(array.ndim());
  const auto size = [&](std::size_t axis) {
    return axis < axes ? static_cast<std::size_t>(array.shape(static_cast<py::ssize_t>(axis))) : 1;
  };
  const ArrayView view = ViewOf(array);
  const double most = as_float ? static_cast<double>(FLT_MAX) : DBL_MAX;
  // Rows of the last axis; of two axes, the second may be the clients'.
  const std::size_t last = axes == 0 ? 0 : axes - 1;
  const std::size_t columns = size(last);
  const std::size_t rows = static_cast<std::size_t>(array.size()) / columns;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::byte* start = view.data;
    if (last == 1) start += static_cast<std::ptrdiff_t>(row) * view.strides[0];
    if (last == 2) {
      start += static_cast<std::ptrdiff_t>(row / size(1)) * view.strides[0] +
               static_cast<std::ptrdiff_t>(row % size(1)) * view.strides[1];
    }
    if (last == 2 && !present.empty() && present[row] == 0) continue;
    const std::ptrdiff_t stride = axes == 0 ? 0 : view.strides[last];
    for (std::size_t from = 0; from < columns;) {
      const std::byte* at = start + static_cast<std::ptrdiff_t>(from) * stride;
      const std::size_t bad =
          from + (view.is_double ? FirstBad<double>(at, stride, columns - from, most)
                                 : FirstBad<float>(at, stride, columns - from, most));
      if (bad == columns) break;
      const std::size_t index = row * columns + bad;
      if (last == 1 && !present.empty() && present[index] == 0) {
        from = bad + 1;
        continue;
      }
      at = start + static_cast<std::ptrdiff_t>(bad) * stride;
      const double number = view.is_double
                                ? *reinterpret_cast<const double*>(at)
                                : static_cast<double>(*reinterpret_cast<const float*>(at));
      throw py::value_error(
          name + (axes > 0 ? Place(array, index) : "") + " is " + Text(number) +
          (std::isfinite(number) ? ", too large for a float" : "; every number must be finite"));
    }
  }
}

void ReadSample(const py::handle& object, const std::string& name, std::size_t dimension,
                std::vector<float>& sample) {
  const py::array x = Numbers(object, name);
  CheckShape(x, name, {static_cast<py::ssize_t>(dimension)},
             "(" + std::to_string(dimension) + ",): one sample");
  CheckFinite(x, name, true);
  sample.resize(dimension);
  ArrayView view = ViewOf(x);
  view.strides = {0, 0, view.strides[0]};
  view.CopyRow(0, 0, sample);
}

double ReadNumber(const py::handle& object, const std::string& name) {
  double number = 0;
  if (PyFloat_Check(object.ptr())) {
    number = PyFloat_AS_DOUBLE(object.ptr());
  } else if (py::isinstance<py::str>(object) || py::isinstance<py::bytes>(object)) {
    NoNumbers(name, "is of the type " + TypeName(object));
  } else {
    const py::array array = Numbers(object, name);
    if (array.size() != 1) {
      throw py::value_error(name + " has the shape " + ShapeText(array) +
                            ", but it must be (): one number");
    }
    number = array.attr("item")().cast<double>();
  }
  if (!std::isfinite(number)) {
    throw py::value_error(name + " is " + Text(number) + "; it must be finite");
  }
  return number;
}

}  // namespace polykern::python
