#include "polykern/net/agent/frozen_expert.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "polykern/algorithms/shared/frozen.h"
#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/exported_model.h"

namespace polykern {
namespace {

constexpr double kNowhere = std::numeric_limits<double>::infinity();

/// A scaled number s stands for middle + s unit, and is not outside least .. most.
struct Axis {
  double middle = 0;
  double unit = 1;
  double least = -kNowhere;
  double most = kNowhere;
};

Axis InputAxis(const FederationConfiguration& c, std::size_t input) {
  if (c.scaling == "norm") return {.unit = c.norm};
  if (c.scaling != "range") return {};
  const auto& [name, low, high] = c.columns[input];
  return {low + (high - low) / 2, (high - low) / 2, -1, 1};
}

Axis LabelAxis(const FederationConfiguration& c) {
  if (!c.ScalesLabels()) return {};
  return {c.target.low, c.target.high - c.target.low, 0, 1};
}

Rescaling Between(const Axis& from, const Axis& to) {
  return {from.unit / to.unit, (from.middle - to.middle) / to.unit, to.least, to.most};
}

/// Where an input of the earlier federation is now.
std::size_t PlaceOf(const FederationConfiguration& now, const FederationConfiguration& earlier,
                    std::size_t input) {
  if (earlier.columns.empty() && now.columns.empty() && input < now.problem.dimension) return input;
  if (earlier.columns.empty() || now.columns.empty()) {
    throw Error("the earlier federation's inputs are not those of this one: " +
                OptionName("columns") + " must have names in both, or in none");
  }
  const std::string& name = earlier.columns[input].name;
  const auto found = std::ranges::find(now.columns, name, &ColumnRange::name);
  if (found == now.columns.end()) {
    throw Error("the earlier federation has the input " + Quoted(name) +
                ", which this one lacks: its model needs it; add it to " + OptionName("columns") +
                ", or start without " + OptionName("from"));
  }
  return static_cast<std::size_t>(found - now.columns.begin());
}

std::unique_ptr<Algorithm> MakeClients(const FederationConfiguration& now, std::size_t earlier);

FrozenModel Freeze(const FederationConfiguration& now, std::size_t earlier) {
  if (earlier == 0) throw Error("the federation began from too many others");
  const ExportedModel model = ExportFromText(now.from);
  const FederationConfiguration before = FromTexts(model.configuration);
  for (const LossKind loss : {now.options.loss, before.options.loss}) {
    if (loss != LossKind::kLogistic) continue;
    throw Error(OptionName("from") + " cannot be combined with " + OptionName("loss", "logistic") +
                ": its predictions are not labels; leave out one of them");
  }
  FrozenModel frozen;
  frozen.algorithm = MakeClients(before, earlier - 1);
  ApplyModel(frozen.algorithm->shape(), model.model, frozen.broadcast);
  frozen.start = StartingState(*frozen.algorithm, model.weights);
  for (std::size_t i = 0; i < before.problem.dimension; ++i) {
    const std::size_t place = PlaceOf(now, before, i);
    frozen.inputs.push_back({place, Between(InputAxis(now, place), InputAxis(before, i))});
  }
  frozen.to_label = Between(LabelAxis(before), LabelAxis(now));
  frozen.from_label = Between(LabelAxis(now), LabelAxis(before));
  return frozen;
}

/// `earlier`: so many federations may be before it.
std::unique_ptr<Algorithm> MakeClients(const FederationConfiguration& now, std::size_t earlier) {
  auto made = MakeAlgorithm(now);
  return now.from.empty() ? std::move(made) : NewWithFrozen(std::move(made), Freeze(now, earlier));
}

}  // namespace

std::unique_ptr<Algorithm> MakeClientAlgorithm(const FederationConfiguration& configuration) {
  return MakeClients(configuration, kMostEarlierFederations);
}

std::vector<double> StartingState(const Algorithm& algorithm, std::span<const double> weights) {
  if (!weights.empty() && weights.size() != algorithm.experts()) {
    throw Error("a model with weights of " + std::to_string(weights.size()) +
                " experts, of which it has " + std::to_string(algorithm.experts()));
  }
  std::vector<double> state(algorithm.state_size());
  algorithm.Start(state);
  if (!weights.empty()) algorithm.SetWeights(weights, state);
  return state;
}

std::string DifferencesButEpoch(ConfigurationTexts one, ConfigurationTexts other) {
  for (ConfigurationTexts* const texts : {&one, &other}) {
    texts->erase("epoch");
    texts->erase("epoch_begin");
  }
  return Differences(one, other);
}

Descent DescentOf(const FederationConfiguration& configuration, const ConfigurationTexts& known) {
  if (configuration.from.empty()) return Descent::kNone;
  ConfigurationTexts before = ExportFromText(configuration.from).configuration;
  if (DifferencesButEpoch(before, known).empty()) return Descent::kWhole;
  ConfigurationTexts own = known;
  before.erase("from");
  own.erase("from");
  return DifferencesButEpoch(before, own).empty() ? Descent::kFrom : Descent::kNone;
}

}  // namespace polykern
