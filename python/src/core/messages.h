#pragma once

#include <cstddef>
#include <memory>

#include <pybind11/numpy.h>

#include "bindings.h"
#include "polykern/algorithms/messages.h"

namespace polykern::python {

/// A model on its way to clients. Whatever made it, its numbers are finite.
struct ModelMessage {
  using MustBeMade = void;
  std::shared_ptr<const Broadcast> broadcast;
  std::size_t width = 0;

  std::size_t blocks() const { return width == 0 ? 0 : broadcast->model.size() / width; }
};

/// A client's answer.
struct UpdateMessage {
  using MustBeMade = void;
  std::shared_ptr<const Updates> updates;  ///< of one client
  std::size_t width = 0;
};

inline py::ssize_t Size(std::size_t size) {
  return static_cast<py::ssize_t>(size);
}

/// The model, (N, 2D), without a copy.
py::array ThetaOf(const ModelMessage& message);

/// A part of BindHalves.
void BindMessages(py::module_& module);

}  // namespace polykern::python
