#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <pybind11/pybind11.h>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/options.h"
#include "polykern/core/kernels.h"

namespace polykern::python {

namespace py = pybind11;

/// pybind11 hands out uninitialised memory for an object whose __init__ was never
/// called (cls.__new__(cls)). Types that say `using MustBeMade = void` refuse it instead.
template <typename T>
class MadeCaster : public py::detail::type_caster_base<T> {
 public:
  bool load(py::handle source, bool convert) {
    auto* const info = py::detail::get_type_info(typeid(T));
    if (info != nullptr && source && PyObject_TypeCheck(source.ptr(), info->type) != 0) {
      auto* const instance = reinterpret_cast<py::detail::instance*>(source.ptr());
      if (!instance->get_value_and_holder(info).holder_constructed()) return false;
    }
    return py::detail::type_caster_base<T>::load(source, convert);
  }
};

}  // namespace polykern::python

namespace pybind11::detail {
template <typename T>
class type_caster<T, std::void_t<typename T::MustBeMade>> : public polykern::python::MadeCaster<T> {
};
template <>
class type_caster<polykern::Kernel> : public polykern::python::MadeCaster<polykern::Kernel> {};
}  // namespace pybind11::detail

namespace polykern::python {

/// Each adds its part to a module: of polykern._core
void BindKernels(py::module_& module);
void BindAlgorithms(py::module_& module);
void BindHalves(py::module_& module);
void BindSimulation(py::module_& module);
void BindData(py::module_& module);
void BindOnlineLearner(py::module_& module);
/// of polykern_net._agent
void BindAgent(py::module_& module);
void BindModel(py::module_& module);
/// and of polykern_net._server.
void BindServer(py::module_& module);

/// Every module's first words: its version, and what the library's errors are in Python.
void BeginModule(py::module_& module);

/// What Python calls a KernelBank: the C++ one, and what it was drawn from. Immutable.
struct Bank {
  using MustBeMade = void;
  std::shared_ptr<const KernelBank> bank;
  std::vector<Kernel> kernels = {};  ///< empty: the frequencies were given
  Draw draw = Draw::kIndependent;
  std::uint64_t seed = 0;       ///< the user's
  std::string dictionary = {};  ///< if the kernels are all of one, its name
};

/// An algorithm as Python describes it. The horizon may be known only when it runs, so it makes the
/// C++ one when asked; one is made at once, to refuse what does not fit. Immutable.
struct Learner {
  using MustBeMade = void;
  std::string name;
  std::optional<Bank> bank = {};  ///< none: perfedavg
  AlgorithmOptions options = {};
  Problem problem = {};                                  ///< horizon 0: not said
  std::shared_ptr<const Algorithm> algorithm = nullptr;  ///< for clients and servers of their own

  std::unique_ptr<Algorithm> Make(std::size_t horizon, std::uint64_t seed, std::size_t clients = 0,
                                  std::size_t ahead = 1) const;
};

/// The options that a dictionary names, as SetOption's texts; None leaves one out. TypeError for a
/// name that is not an option's, or a value of another type.
std::map<std::string, std::string> OptionTexts(const py::dict& settings);

/// A whole number of at least `least`.
std::uint64_t ReadCount(const py::handle& object, const std::string& name, std::uint64_t least = 0);

/// Calls `job` without the GIL; what it throws is thrown here.
template <typename Job>
auto WithoutGil(const Job& job) {
  const py::gil_scoped_release release;
  return job();
}

}  // namespace polykern::python
