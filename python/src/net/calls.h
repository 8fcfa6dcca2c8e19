#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>

#include "bindings.h"
#include "polykern/core/error.h"

namespace polykern::python {

/// What fails in the network is not a wrong argument: RuntimeError.
template <typename Job>
auto Remotely(const Job& job) {
  try {
    return WithoutGil(job);
  } catch (const Error& error) {
    throw std::runtime_error(error.what());
  }
}

/// Waits for `holds(time)` in short turns, so that Ctrl-C is heard; seconds may be infinite.
template <typename Wait>
bool Patiently(double seconds, const Wait& holds) {
  using std::chrono::milliseconds;
  if (std::isnan(seconds) || seconds < 0) throw py::value_error("a time to wait must be 0 or more");
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - start;
    const double left = seconds - gone.count();
    const milliseconds turn(static_cast<std::int64_t>(1000 * std::clamp(left, 0.0, 0.1)));
    if (Remotely([&] { return holds(turn); })) return true;
    if (left <= 0) return false;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
}

/// Why something ended; empty if nothing has.
inline std::string TextOf(const std::optional<Error>& failure) {
  return failure ? failure->what() : "";
}

}  // namespace polykern::python
