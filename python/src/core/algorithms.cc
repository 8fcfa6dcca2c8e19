// Algorithms: a name, a bank and options become a polykern::Algorithm.

#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>

#include <pybind11/stl.h>

#include "bindings.h"
#include "polykern/algorithms/option_values.h"
#include "polykern/algorithms/options.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"

namespace polykern::python {
namespace {

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

/// What may be given for it, as Python's type checkers write it.
std::string TypeOf(const OptionDeclaration& option) {
  std::string names;
  for (const std::string& choice : OptionChoices(option)) {
    names += (names.empty() ? "" : ", ") + ("\"" + choice + "\"");
  }
  if (!names.empty()) return "Literal[" + names + "]";
  using O = AlgorithmOptions;
  const std::string type = std::visit(
      []<typename T>(T O::*) {
        if (std::same_as<T, bool>) return "bool";
        if (std::same_as<T, std::string>) return "str";
        return std::same_as<T, double> || std::same_as<T, std::optional<double>> ? "float" : "int";
      },
      option.field);
  if (option.zero.empty()) return type;
  return "Union[" + type + ", Literal[\"" + std::string(option.zero) + "\"]]";
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
  // (key, default, help, type) of each option that the algorithm uses; a default of None: its own.
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
                                     ValueOf(option, AlgorithmOptions()), help, TypeOf(option)));
        }
        return list;
      },
      py::arg("algorithm"));
  module.def(
      "has_unit_labels", [](const std::string& name) { return !TraitsOf(name).any_loss; },
      py::arg("algorithm"));
}

}  // namespace polykern::python
