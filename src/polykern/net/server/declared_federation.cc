#include "polykern/net/server/declared_federation.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>
#include <utility>

#include "polykern/algorithms/option_values.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/net/agent/frozen_expert.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/learnt_ranges.h"
#include "polykern/net/made_inputs.h"
#include "polykern/net/rounds/rounds_options.h"
#include "polykern/net/server/begin_from.h"
#include "polykern/net/store_kinds/open_store.h"
#include "polykern/privacy/discrete_gaussian.h"

namespace polykern {
namespace {

constexpr const char* kLeastClients = "least_clients";

void CheckEnds(const std::string& option, const ColumnRange& column) {
  if (column.low < column.high && std::isfinite(column.high - column.low)) return;
  throw Error(option + " of " + Quoted(column.name) + " must be finite, the low end first");
}

void SetOptions(const DeclaredFederation& declared, FederationConfiguration& f) {
  for (const auto& [key, text] : declared.options) {
    const OptionDeclaration* option = FindOption(key);
    if (option == nullptr) throw Error("there is no option " + OptionName(key));
    SetOption(*option, text, f.options);
  }
}

void SetColumns(const DeclaredFederation& declared, FederationConfiguration& f) {
  if (declared.dimension) {
    if (declared.columns.empty() && *declared.dimension != f.columns.size()) f.columns.clear();
    f.problem.dimension = *declared.dimension;
  }
  if (!declared.columns.empty()) {
    const std::vector<ColumnRange> before = std::exchange(f.columns, {});
    for (const std::string& name : declared.columns) {
      if (std::ranges::count(declared.columns, name) > 1) {
        throw Error(OptionName("columns") + " names " + Quoted(name) + " twice");
      }
      const auto known = std::ranges::find(before, name, &ColumnRange::name);
      f.columns.push_back(known != before.end() ? *known : ColumnRange{name, 0, 1});
    }
    if (!declared.dimension) f.problem.dimension = f.columns.size();
  }
  for (const ColumnRange& range : declared.ranges) {
    if (std::ranges::count(declared.ranges, range.name, &ColumnRange::name) > 1) {
      throw Error(OptionName("range") + " is given twice for " + Quoted(range.name));
    }
    const auto column = std::ranges::find(f.columns, range.name, &ColumnRange::name);
    if (column == f.columns.end()) {
      std::vector<std::string> names;
      for (const ColumnRange& known : f.columns) names.push_back(known.name);
      throw Error(OptionName("range") + " is given for " + Quoted(range.name) + "; " +
                  Suggest(range.name, names));
    }
    CheckEnds(OptionName("range"), range);
    *column = range;
  }
}

/// Leaves the columns of samples, for what is declared about them.
void SetMadeInputs(const DeclaredFederation& declared, FederationConfiguration& f) {
  TakeMadeColumnsOut(f);
  f.categories = declared.categories.value_or(f.categories);
  if (declared.missing) f.missing = *declared.missing == "drop" ? "" : *declared.missing;
  if (!f.missing.empty() && !f.imputes()) {
    throw Error(OptionName("missing") + " is " + Quoted(f.missing) +
                "; a federation knows drop and impute");
  }
  f.problem.ahead = declared.ahead.value_or(f.problem.ahead);
  f.lags = declared.lags.value_or(f.lags);
  f.calendar = declared.calendar.value_or(f.calendar);
  f.time = declared.time.value_or(f.time);
  if (!f.calendar.empty() && f.time.empty()) {
    throw Error(OptionName("calendar") + " needs " + OptionName("time", "COLUMN") +
                ": it is that of the times in this column");
  }
}

/// Each must be one of the columns.
void CheckCategories(const FederationConfiguration& f) {
  std::vector<std::string> names;
  for (const ColumnRange& column : f.columns) names.push_back(column.name);
  for (const TextColumn& text : f.text_columns()) {
    if (std::ranges::count(names, text.name) > 0) continue;
    throw Error(OptionName("categories") + " are given for " + Quoted(text.name) + "; " +
                Suggest(text.name, names));
  }
}

/// Ranges are learnt all together, or none of them. A store whose ranges are not known yet may have
/// them declared instead, if it is unused.
void SetLearnRanges(const DeclaredFederation& declared, FederationConfiguration& f,
                    const std::optional<FederationConfiguration>& stored) {
  const std::string learns = OptionName("learn_ranges");
  const bool declares = !declared.ranges.empty() || declared.target_range ||
                        declared.plain_labels || declared.norm ||
                        declared.scaling.value_or("range") != "range";
  if (declares) f.learn_ranges = 0;
  if (declared.learn_ranges && (!stored || stored->learn_ranges > 0)) {
    f.learn_ranges = *declared.learn_ranges;
  }
  if (declares && declared.learn_ranges) {
    throw Error(learns + " learns all ranges; leave out " + OptionName("range") + ", " +
                OptionName("target_range") + " and " + OptionName("scaling") + ", or leave out " +
                learns + " and declare all ranges");
  }
  if (f.learn_ranges == 0) {
    if (declared.learn_ranges && (f.scaling != "range" || !f.ScalesLabels())) {
      throw Error(learns + " has no effect: the store does not scale by ranges; leave it out");
    }
    return;
  }
  f.scaling = "range";
  if (f.columns.empty()) throw Error(learns + " needs " + OptionName("columns", "NAME,NAME,..."));
}

/// Every input must have a declared range, now or for the store.
void CheckRanges(const DeclaredFederation& declared, const FederationConfiguration& f,
                 const std::optional<FederationConfiguration>& stored) {
  const bool known = stored && stored->scaling == "range";
  const std::vector<TextColumn> texts = f.text_columns();
  const bool all = std::ranges::all_of(f.columns, [&](const ColumnRange& column) {
    return std::ranges::count(texts, column.name, &TextColumn::name) > 0 ||
           std::ranges::count(declared.ranges, column.name, &ColumnRange::name) > 0 ||
           (known && std::ranges::count(stored->columns, column.name, &ColumnRange::name) > 0);
  });
  if (all && !f.columns.empty()) return;
  throw Error(OptionName("scaling", "range") + " needs " + OptionName("columns") + ", and a " +
              OptionName("range", "COLUMN=LOW:HIGH") + " for each of them");
}

/// Nothing that is said about the data may be without effect, and nothing that it needs missing.
void CheckScaling(const DeclaredFederation& declared, const FederationConfiguration& f,
                  const std::optional<FederationConfiguration>& stored) {
  const bool scaled_before = stored && stored->scaling == f.scaling;
  if (f.scaling != "range" && !declared.ranges.empty()) {
    throw Error(declared.scaling
                    ? OptionName("range") + " cannot be combined with " +
                          OptionName("scaling", f.scaling) + "; leave out one of them"
                    : OptionName("range") + " has no effect: the store's inputs are not scaled " +
                          "by ranges; leave it out, or add " + OptionName("scaling", "range"));
  }
  if (f.scaling == "norm" && !scaled_before && !declared.norm) {
    throw Error(OptionName("scaling", "norm") + " needs " + OptionName("norm", "R") +
                ", the largest norm that the inputs of any sample have; or use " +
                OptionName("scaling", "range") + " and declare the columns' ranges");
  }
  if (f.scaling != "norm" && declared.norm) {
    throw Error(OptionName("norm") + " needs " + OptionName("scaling", "norm"));
  }
  if (f.scaling == "range" && f.learn_ranges == 0) CheckRanges(declared, f, stored);
}

/// The scaling of labels must be given: no one would notice a wrong guess.
void SetLabels(const DeclaredFederation& declared, FederationConfiguration& f,
               const std::optional<FederationConfiguration>& stored) {
  bool scales = f.learn_ranges > 0;
  if (scales) {
    f.target = {f.target.name};
  } else if (declared.target_range) {
    f.target = {f.target.name, declared.target_range->low, declared.target_range->high};
    CheckEnds(OptionName("target_range"), f.target);
    scales = true;
  } else if (declared.plain_labels) {
    f.target = {f.target.name};
    scales = !TraitsOf(f.algorithm).any_loss;  // from [0, 1] to itself: that clips
  } else if (stored && (stored->ScalesLabels() || stored->scaling == f.scaling)) {
    scales = stored->ScalesLabels();
  } else {
    throw Error(OptionName("target_range", "LOW:HIGH") +
                " is needed: labels are scaled to [0, 1] by it; " +
                OptionName("target_range", "none") + " uses them as they are, and " +
                OptionName("learn_ranges", "N") + " learns all ranges");
  }
  f.labels.clear();
  if (scales != f.ScalesLabels()) f.labels = scales ? "range" : "none";
}

/// Pairwise masks cancel each other over all clients alone, so those are part of the federation.
void SetClients(const DeclaredFederation& declared, FederationConfiguration& f) {
  if (f.options.masking != Masking::kPairwise) return;
  if (!declared.clients.empty()) f.clients = declared.clients;
  if (f.clients.size() < 2) {
    throw Error(OptionName("masking", "pairwise") + " needs " +
                OptionName("clients", "NAME,NAME,...") + ": all clients, two or more");
  }
}

/// Nothing may be promised that does not happen.
void CheckPrivacy(const DeclaredFederation& declared, const FederationConfiguration& f) {
  if (declared.options.contains("masking") && f.options.masking != Masking::kNone &&
      !UsesOption(f.algorithm, *FindOption("masking"))) {
    throw Error(f.algorithm +
                " cannot be masked: its clients do not send sums over samples; pof-gram's do");
  }
  if (f.options.epsilon <= 0) return;
  const std::string epsilon = OptionName("epsilon");
  if (!UsesOption(f.algorithm, *FindOption("epsilon"))) {
    if (!declared.options.contains("epsilon")) return;
    throw Error(f.algorithm + " has no noise: its clients do not send sums over samples; " +
                "pof-gram's do; leave out " + epsilon);
  }
  if (declared.learn_ranges) {
    throw Error(OptionName("learn_ranges") + " cannot be combined with " + epsilon +
                ": extreme values would leave clients without noise; declare the ranges");
  }
  if (declared.plain_labels) {
    throw Error(OptionName("target_range", "none") + " cannot be combined with " + epsilon +
                ": noise is as large as the range, which must be known to all; declare it");
  }
  if (declared.missing.value_or(f.missing) == "impute") {
    throw Error(OptionName("missing", "impute") + " cannot be combined with " + epsilon +
                ": means of past samples would put a row into every later one; drop them");
  }
}

}  // namespace

FederationConfiguration Complete(const DeclaredFederation& declared,
                                 const std::optional<FederationConfiguration>& stored,
                                 std::uint64_t steps) {
  FederationConfiguration f =
      stored.value_or(FederationConfiguration{.algorithm = kAlgorithmOfNew});
  f.algorithm = declared.algorithm.value_or(f.algorithm);
  SetOptions(declared, f);
  CheckAlgorithm(f.algorithm, f.options);
  CheckPrivacy(declared, f);
  if (!stored) f.scaling = declared.ranges.empty() ? "none" : "range";
  f.scaling = declared.scaling.value_or(f.scaling);
  SetMadeInputs(declared, f);
  // Who speaks of time has samples in its order: then what is learnt changes with time, too.
  const bool in_time = (f.derived_inputs() > 0 || !f.time.empty()) && f.problem.ahead == 1;
  if (!stored && in_time && !declared.options.contains("forgetting")) {
    f.options.forgetting = kAutoForgetting;
  }
  SetColumns(declared, f);
  CheckCategories(f);
  SetLearnRanges(declared, f, stored);
  const bool has_ranges = stored && stored->learn_ranges == 0;
  const std::optional<FederationConfiguration> ranged = has_ranges ? stored : std::nullopt;
  CheckScaling(declared, f, ranged);
  f.norm = declared.norm.value_or(f.norm);
  f.target.name = declared.target.value_or(f.target.name);
  if (std::ranges::count(f.columns, f.target.name, &ColumnRange::name) > 0) {
    throw Error(OptionName("target") + " " + Quoted(f.target.name) + " is one of the " +
                OptionName("columns") + " as well");
  }
  if (f.problem.dimension == 0) {
    throw Error("the number of inputs is not given; add " + OptionName("columns", "NAME,NAME,...") +
                " or " + OptionName("dimension", "D"));
  }
  SetLabels(declared, f, ranged);
  if (f.options.masking != Masking::kNone && f.learn_ranges > 0) {
    throw Error(OptionName("learn_ranges") + " cannot be combined with " + OptionName("masking") +
                ": the server would see every client's extreme values; declare the ranges");
  }
  SetClients(declared, f);
  AddMadeColumns(f);
  if (!stored) f.problem.horizon = steps > 0 ? steps : kEndlessHorizon;
  f.problem.horizon = declared.horizon.value_or(f.problem.horizon);
  f.problem.seed = declared.seed.value_or(f.problem.seed);
  return FromTexts(ToTexts(f));  // as clients will understand it
}

std::vector<std::string> OptionsWithoutEffect(const DeclaredFederation& declared,
                                              const std::string& algorithm) {
  std::vector<std::string> keys;
  for (const auto& [key, text] : declared.options) {
    const OptionDeclaration* option = FindOption(key);
    if (option != nullptr && !UsesOption(algorithm, *option) && key != kLeastClients) {
      keys.push_back(key);
    }
  }
  return keys;
}

std::uint64_t LeastClientsOfStep(const DeclaredFederation& declared) {
  const auto given = declared.options.find(kLeastClients);
  if (given == declared.options.end()) return RoundsOptions().least_clients;
  AlgorithmOptions options;
  SetOption(*FindOption(kLeastClients), given->second, options);
  return options.least_clients;
}

namespace {

/// Epsilon may be declared as when the federation began: with what was spent before.
DeclaredFederation WithoutBudget(DeclaredFederation declared,
                                 const FederationConfiguration& stored) {
  const auto epsilon = declared.options.find("epsilon");
  if (stored.total_epsilon == 0 || epsilon == declared.options.end()) return declared;
  AlgorithmOptions given;
  SetOption(*FindOption("epsilon"), epsilon->second, given);
  if (given.epsilon == stored.total_epsilon) declared.options.erase(epsilon);
  return declared;
}

/// With the settings of the federation in another store, but for what is declared.
FederationConfiguration BeginFrom(const DeclaredFederation& declared, std::uint64_t steps) {
  const StoreContents store = ReadStore(declared.from);
  try {
    const EarlierFederation earlier = ReadEarlier(store);
    FederationConfiguration made = Complete(declared, earlier.settings, steps);
    made.from = earlier.model;
    ChargeBudget(earlier, made);
    static_cast<void>(MakeClientAlgorithm(made));  // complains now, if at all
    return made;
  } catch (const Error& error) {
    throw Error(declared.from + ": " + error.marked());
  }
}

/// Like no other.
std::string NewFederationId() {
  SystemBits bits;
  std::ostringstream id;
  id << std::hex << std::setfill('0');
  for (int half = 0; half < 2; ++half) id << std::setw(16) << bits.Bits();
  return id.str();
}

}  // namespace

FederationConfiguration CompleteForStore(const DeclaredFederation& declared,
                                         const std::string& store, std::uint64_t steps) {
  if (!HasStore(store)) {
    FederationConfiguration made = declared.from.empty() ? Complete(declared, std::nullopt, steps)
                                                         : BeginFrom(declared, steps);
    if (made.options.masking != Masking::kNone) {
      made.federation_id = NewFederationId();
      made.epoch = 1;
    }
    return made;
  }
  const StoreContents contents = ReadStore(store);
  FederationConfiguration stored;
  try {
    stored = FromTexts(contents.configuration);
  } catch (const Error& unreadable) {
    throw Error(store + ": " + unreadable.marked());
  }
  if (!declared.from.empty() && stored.from.empty()) {
    throw Error(store +
                ": there is a store that did not begin from another; choose a new one for " +
                OptionName("store") + ", or leave out " + OptionName("from"));
  }
  return Complete(WithoutBudget(declared, stored), stored, steps);
}

}  // namespace polykern
