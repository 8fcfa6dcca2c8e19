// Algorithms: a name, a bank and options become a polykern::Algorithm.

#include <functional>
#include <map>

#include <pybind11/stl.h>

#include "arrays.h"
#include "bindings.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/random.h"

namespace polykern::python {
namespace {

using Set = std::function<void(const py::handle&, const std::string&, AlgorithmOptions&)>;

template <typename Field>
Set Number(Field AlgorithmOptions::*field) {
  return [field](const py::handle& value, const std::string& name, AlgorithmOptions& options) {
    options.*field = ReadNumber(value, name);
  };
}
template <typename Field>
Set Count(Field AlgorithmOptions::*field) {
  return [field](const py::handle& value, const std::string& name, AlgorithmOptions& options) {
    options.*field = static_cast<std::size_t>(ReadCount(value, name));
  };
}
Set Flag(bool AlgorithmOptions::*field) {
  return [field](const py::handle& value, const std::string& name, AlgorithmOptions& options) {
    if (!py::isinstance<py::bool_>(value)) throw py::type_error(name + " must be True or False");
    options.*field = value.cast<bool>();
  };
}

std::string Text(const py::handle& value, const std::string& name) {
  if (!py::isinstance<py::str>(value)) throw py::type_error(name + " must be a str");
  return value.cast<std::string>();
}

Schedule ParseSchedule(const std::string& name) {
  if (name == "constant") return Schedule::kConstant;
  if (name == "anytime") return Schedule::kAnytime;
  throw Error("unknown schedule '" + name + "'; there are: constant, anytime");
}

const std::map<std::string, Set>& Setters() {
  using O = AlgorithmOptions;
  static const std::map<std::string, Set> setters = {
      {"dictionary", [](auto v, const auto& n, auto& o) { o.dictionary = Text(v, n); }},
      {"kernels", Count(&O::kernels)},
      {"kernels_per_upload", Count(&O::kernels_per_upload)},
      {"features", Count(&O::features)},
      {"budget", Count(&O::budget)},
      {"orthogonal", Flag(&O::orthogonal)},
      {"shared_draws", Flag(&O::shared_draws)},
      {"exploration", Number(&O::exploration)},
      {"learning_rate", Number(&O::learning_rate)},
      {"weight_rate", Number(&O::weight_rate)},
      {"schedule", [](auto v, const auto& n, auto& o) { o.schedule = ParseSchedule(Text(v, n)); }},
      {"regularization", Number(&O::regularization)},
      {"loss", [](auto v, const auto& n, auto& o) { o.loss.kind = ParseLoss(Text(v, n)); }},
      {"huber_delta", [](auto v, const auto& n, auto& o) { o.loss.delta = ReadNumber(v, n); }},
      {"single_bandwidth", Number(&O::single_bandwidth)},
      {"hessian_free", Flag(&O::hessian_free)},
      {"inner_rate", Number(&O::inner_rate)},
      {"meta_rate", Number(&O::meta_rate)},
      {"projection_radius", Number(&O::projection_radius)},
      {"weighting",
       [](auto v, const auto& n, auto& o) { o.weighting = ParseWeighting(Text(v, n)); }},
      {"ridge", Number(&O::ridge)},
      {"forgetting", Number(&O::forgetting)},
      {"refresh", Number(&O::refresh)},
      {"server_memory", Count(&O::server_memory)},
      {"local_experts", Flag(&O::local_experts)},
      {"local_kernels", Count(&O::local_kernels)},
      {"local_memory", Count(&O::local_memory)},
  };
  return setters;
}

/// Without a budget there is none: what the bank and M make is what is sent.
void RaiseBudget(const std::string& name, const Bank& bank, AlgorithmOptions& options) {
  options.kernels = bank.bank->kernels();
  options.features = bank.bank->features();
  const Uplink uplink = UplinkOf(name, options);
  if (uplink.kernels > options.kernels) return;  // refused below
  options.budget =
      std::max(options.budget, uplink.kernels * 2 * bank.bank->features() + uplink.losses);
}

Learner MakeLearner(const std::string& name, const std::optional<Bank>& bank,
                    const py::object& dimension, const py::object& horizon, const py::object& seed,
                    const py::dict& settings) {
  Learner learner;
  learner.name = name;
  learner.bank = bank;
  UplinkOf(name, learner.options);  // is there such an algorithm?
  FillOptions(settings, learner.options);
  learner.problem.seed = ReadCount(seed, "seed");
  if (!horizon.is_none()) learner.problem.horizon = ReadCount(horizon, "horizon", 1);
  if (bank) {
    learner.problem.dimension = bank->bank->dimension();
    if (!bank->dictionary.empty()) learner.options.dictionary = bank->dictionary;
    learner.options.orthogonal = bank->draw == Draw::kOrthogonal;
    learner.options.shared_draws = bank->draw == Draw::kShared;
    if (name == "ofskl" && bank->kernels.size() == 1) {
      learner.options.single_bandwidth = bank->kernels[0].length * bank->kernels[0].length;
    }
    if (!settings.contains("budget") || settings["budget"].is_none()) {
      RaiseBudget(name, *bank, learner.options);
    }
  } else {
    learner.problem.dimension = ReadCount(dimension, "dimension", 1);
  }
  learner.algorithm =
      learner.Make(learner.problem.horizon > 0 ? learner.problem.horizon : kEndlessHorizon,
                   learner.problem.seed);
  return learner;
}

}  // namespace

std::unique_ptr<Algorithm> Learner::Make(std::size_t horizon, std::uint64_t seed) const {
  const Problem own = {problem.dimension, horizon, RepetitionSeed(seed)};
  if (bank) return MakeAlgorithm(name, bank->bank, options, own);
  if (name != "perfedavg") throw Error(name + " has kernels: it needs a bank");
  return MakeAlgorithm(name, options, own);
}

void FillOptions(const py::dict& settings, AlgorithmOptions& options) {
  for (const auto& [key, value] : settings) {
    const auto name = Text(key, "the name of an option");
    const auto setter = Setters().find(name);
    if (setter == Setters().end()) throw py::type_error("there is no option '" + name + "'");
    if (!value.is_none()) setter->second(value, name, options);
  }
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

void BindAlgorithms(py::module_& module) {
  py::class_<Learner>(module, "Algorithm")
      .def(py::init(&MakeLearner), py::arg("name"), py::arg("bank") = std::nullopt,
           py::arg("dimension") = py::none(), py::arg("horizon") = py::none(), py::arg("seed") = 0,
           py::arg("options") = py::dict())
      .def_readonly("name", &Learner::name)
      .def_property_readonly("bank", [](const Learner& l) { return l.bank; })
      .def_property_readonly("dimension", [](const Learner& l) { return l.problem.dimension; })
      .def_property_readonly("kernels_per_upload",
                             [](const Learner& l) { return UplinkOf(l.name, l.options).kernels; })
      .def_property_readonly("uplink_numbers",
                             [](const Learner& l) { return l.algorithm->shape().update_size(); })
      .def("__repr__", [](const Learner& l) {
        return "<" + l.name + ": " + std::to_string(l.problem.dimension) + " inputs, " +
               std::to_string(l.algorithm->shape().update_size()) + " numbers up>";
      });
  module.def("algorithm_names", [] {
    return std::vector<std::string>(AlgorithmNames().begin(), AlgorithmNames().end());
  });
  module.def("option_names", [] {
    std::vector<std::string> names;
    for (const auto& [name, setter] : Setters()) names.push_back(name);
    return names;
  });
}

}  // namespace polykern::python
