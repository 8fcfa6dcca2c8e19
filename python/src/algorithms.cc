// Algorithms: a name, a bank and options become a polykern::Algorithm.

#include <concepts>
#include <map>
#include <type_traits>
#include <variant>

#include <pybind11/stl.h>

#include "arrays.h"
#include "bindings.h"
#include "polykern/algorithms/option_values.h"
#include "polykern/algorithms/options.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/text.h"

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

py::object ValueOf(const OptionDeclaration& option, const AlgorithmOptions& options) {
  return std::visit(
      [&]<typename T>(T AlgorithmOptions::*field) -> py::object {
        if (std::is_enum_v<T> || HasNamedZero(option, options)) {
          return py::str(OptionText(option, options));
        }
        return py::cast(options.*field);
      },
      option.field);
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
  for (const auto& [key, text] : OptionTexts(settings)) {
    SetOption(*FindOption(key), text, learner.options);
  }
  learner.problem.seed = ReadCount(seed, "seed");
  if (!horizon.is_none()) learner.problem.horizon = ReadCount(horizon, "horizon", 1);
  if (bank) {
    learner.problem.dimension = bank->bank->dimension();
    if (!bank->dictionary.empty()) learner.options.dictionary = bank->dictionary;
    learner.options.orthogonal = bank->draw == Draw::kOrthogonal;
    learner.options.shared_draws = bank->draw == Draw::kShared;
    if (UsesOption(name, *FindOption("single_bandwidth")) && bank->kernels.size() == 1) {
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

std::unique_ptr<Algorithm> Learner::Make(std::size_t horizon, std::uint64_t seed,
                                         std::size_t clients, std::size_t ahead) const {
  const Problem own = {problem.dimension, horizon, RepetitionSeed(seed), clients, ahead};
  if (bank) return MakeAlgorithm(name, bank->bank, options, own);
  if (TraitsOf(name).takes_bank) throw Error(name + " has kernels: it needs a bank");
  return MakeAlgorithm(name, options, own);
}

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
    for (const OptionDeclaration& option : kAlgorithmOptions) names.emplace_back(option.key);
    return names;
  });
  // (key, default, help) of each option that the algorithm uses; a default of None: its own.
  module.def(
      "algorithm_options",
      [](const std::string& algorithm) {
        TraitsOf(algorithm);
        py::list list;
        for (const OptionDeclaration& option : kAlgorithmOptions) {
          if (!UsesOption(algorithm, option)) continue;
          std::string help(option.help);
          const std::vector<std::string> choices = OptionChoices(option);
          for (std::size_t i = 0; i < choices.size(); ++i) {
            help += (i == 0 ? "; " : ", ") + choices[i];
          }
          if (!option.unset.empty()) help += " (default: " + std::string(option.unset) + ")";
          list.append(py::make_tuple(py::str(option.key.data(), option.key.size()),
                                     ValueOf(option, AlgorithmOptions()), help));
        }
        return list;
      },
      py::arg("algorithm"));
  module.def(
      "has_unit_labels", [](const std::string& name) { return !TraitsOf(name).any_loss; },
      py::arg("algorithm"));
}

}  // namespace polykern::python
