#pragma once

#include <chrono>
#include <cstddef>

#include <pybind11/pybind11.h>

namespace polykern::python {

namespace py = pybind11;

/// Lets Python breathe while a call works without the GIL: signals (Ctrl-C) and the user's progress
/// function, a few times a second. What they throw ends the call.
class Breath {
 public:
  /// progress: a function of what is done and of all there is to do, or None; must outlive this.
  Breath(const py::object& progress, std::size_t all) : progress_(progress), all_(all) {}

  void operator()(std::size_t done) {
    const auto now = Clock::now();
    const bool last = done == all_ && !progress_.is_none();
    if (now < next_ && !last) return;
    next_ = now + std::chrono::milliseconds(50);
    const py::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!progress_.is_none()) progress_(done, all_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  const py::object& progress_;
  std::size_t all_;
  Clock::time_point next_ = Clock::now() + std::chrono::milliseconds(50);
};

}  // namespace polykern::python
