#include "polykern/data/source.h"

#include <algorithm>
#include <span>

#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/data/dataset.h"
#include "polykern/data/synthetic.h"

namespace polykern {
namespace {

const char* Name(Split split) {
  switch (split) {
    case Split::kIid:
      return "iid";
    case Split::kRuns:
      return "runs";
    case Split::kSite:
      return "site";
    case Split::kOrder:
      return "order";
    case Split::kColumn:
      break;
  }
  return "column";
}

const char* Name(Scaling scaling) {
  return scaling == Scaling::kNone ? "none" : scaling == Scaling::kNorm ? "norm" : "range";
}

bool IsRecipe(const std::string& name) {
  return std::ranges::any_of(Recipes(), [&](const Recipe& recipe) { return recipe.name == name; });
}

/// A bare word that is neither a known name nor looks like a path is a mistyped name.
bool LooksLikeFile(const std::string& name) {
  return name.find_first_of("./\\") != std::string::npos;
}

void CheckCount(const std::optional<std::size_t>& count, const char* option) {
  if (count && *count == 0) throw Error(OptionName(option) + " is 0; it must be at least 1");
}

/// Refuses an option that was given but has no effect with these data.
void Refuse(bool given, const char* option, const std::string& data) {
  if (given)
    throw Error(OptionName(option) + " has no effect with " + OptionName("data", data) +
                "; leave it out");
}

void RefuseCsvOptions(const SourceOptions& options, const std::string& data) {
  Refuse(!options.target.empty(), "target", data);
  Refuse(!options.site.empty(), "site", data);
  Refuse(!options.client.empty(), "client", data);
  Refuse(!options.features.empty(), "inputs", data);
  Refuse(!options.exclude.empty(), "exclude", data);
  Refuse(!options.categorical.empty(), "categorical", data);
  Refuse(options.categories != Categories::kOneHot, "categories", data);
  Refuse(options.delimiter != 0, "delimiter", data);
  Refuse(options.decimal != '.', "decimal", data);
  Refuse(options.missing == MissingPolicy::kImpute, "missing", data);
  Refuse(options.header != HeaderLine::kAuto, "header", data);
  Refuse(!options.time.empty(), "time", data);
  Refuse(!options.derived.lags.empty(), "lags", data);
  Refuse(!options.derived.calendar.empty(), "calendar", data);
  Refuse(options.derived.ahead != 1, "ahead", data);
}

Source OpenFleet(const SourceOptions& options) {
  RefuseCsvOptions(options, "synthetic");
  Refuse(options.split.has_value(), "split", "synthetic");
  Refuse(options.scaling.has_value(), "scaling", "synthetic");
  Refuse(!options.ranges.empty(), "range", "synthetic");
  FleetOptions fleet;
  fleet.clients = options.clients.value_or(fleet.clients);
  fleet.steps = options.steps.value_or(fleet.steps);
  fleet.dimension = options.dimension.value_or(fleet.dimension);
  fleet.noise = options.noise.value_or(fleet.noise);
  fleet.drift = options.drift.value_or(fleet.drift);
  fleet.seed = options.seed;
  Source source;
  source.stream = std::make_unique<SyntheticFleet>(fleet);
  source.name = "synthetic";
  source.split = "synthetic";
  source.scaling = "none";
  return source;
}

/// Whose rows they are.
std::string OwnersText(const SourceOptions& options, Split split) {
  switch (split) {
    case Split::kIid:
      return "rows dealt to clients at random";
    case Split::kRuns:
      return "a run of neighbouring rows for each client";
    case Split::kSite:
      return "most of a client's rows from its own site";
    case Split::kColumn:
      return "a client for each value of " +
             Quoted(options.client.empty() ? options.site : options.client);
    case Split::kOrder:
      break;
  }
  if (!options.site.empty()) return "a client for each value of " + Quoted(options.site);
  if (options.data.size() > 1) return "a client for each file";
  const bool one = options.clients.value_or(1) == 1;
  return one ? "all rows are one client's" : "a run of neighbouring rows for each client";
}

std::string OrderText(std::span<const Seconds> times, Split split) {
  if (split != Split::kColumn && split != Split::kOrder) return ", shuffled";
  if (times.empty()) return ", in the order of the file";
  return ", in the order of time, " + TimeText(times.front()) + " to " + TimeText(times.back());
}

std::string OrderChanges(const RowOrder& order) {
  const auto rows = [](std::size_t count) {
    return std::to_string(count) + (count == 1 ? " row" : " rows");
  };
  std::string text;
  if (order.unsorted > 0) text += "; sorted, " + rows(order.unsorted) + " out of order";
  if (order.doubled > 0) {
    text += "; " + rows(order.doubled) + " left out because the client has one at that time";
  }
  return text;
}

Source DealOut(Dataset dataset, SplitOptions split, const SourceOptions& options) {
  Source source;
  source.name = dataset.name;
  source.target = dataset.target_name;
  source.inputs = dataset.feature_names;
  source.unused_columns = dataset.unused_columns;
  source.scaling = Name(dataset.scale.kind);
  source.split = Name(split.split);
  source.rows = dataset.rows();
  source.dropped_rows = dataset.dropped_rows;
  source.notices = dataset.notices;
  source.clipped_values = dataset.clipped_inputs + dataset.clipped_labels;
  split.major_share = options.major_share;
  split.seed = options.seed;
  const std::string changes = OrderChanges(dataset.order);
  auto dealt = Deal(std::make_shared<const Dataset>(std::move(dataset)), split);
  source.order =
      OwnersText(options, split.split) + OrderText(dealt->times(), split.split) + changes;
  source.stream = std::move(dealt);
  return source;
}

Source OpenRecipe(const Recipe& recipe, const SourceOptions& options) {
  RefuseCsvOptions(options, recipe.name);
  Refuse(options.dimension.has_value(), "dimension", recipe.name);
  Refuse(options.noise.has_value(), "noise", recipe.name);
  Refuse(options.drift.has_value(), "drift", recipe.name);
  SplitOptions split = recipe.PaperSplit(options.seed);
  split.split = options.split.value_or(split.split);
  split.clients = options.clients.value_or(split.clients);
  split.steps = options.steps.value_or(split.steps);
  ScalingOptions scaling;
  scaling.kind = options.scaling.value_or(Scaling::kNorm);
  scaling.ranges = options.ranges;
  Source source = DealOut(LoadRecipe(recipe, options.data_dir, scaling), split, options);
  source.files = recipe.files;
  return source;
}

Source OpenFiles(const SourceOptions& options) {
  Refuse(options.dimension.has_value(), "dimension", options.data.front());
  Refuse(options.noise.has_value(), "noise", options.data.front());
  Refuse(options.drift.has_value(), "drift", options.data.front());
  for (const std::string& input : options.features) {
    if (std::ranges::find(options.exclude, input) != options.exclude.end()) {
      throw Error("column " + Quoted(input) + " is named by " + OptionName("inputs") + " and by " +
                  OptionName("exclude") + "; choose one");
    }
  }
  const Split split =
      options.split.value_or(options.client.empty() ? Split::kOrder : Split::kColumn);
  const bool ordered = split == Split::kColumn || split == Split::kOrder;
  if (!ordered && !options.time.empty()) {
    throw Error(OptionName("split", Name(split)) + " shuffles rows, and " + OptionName("time") +
                " orders them; leave out one");
  }
  const bool one_site = options.site.empty() && options.data.size() == 1;
  DatasetOptions columns;
  columns.target = options.target;
  columns.site = options.site;
  columns.client = options.client;
  if (split == Split::kColumn && columns.client.empty()) columns.client = options.site;
  if (split == Split::kOrder) {
    columns.client.clear();
    columns.owners = one_site ? RowOwners::kRuns : RowOwners::kSites;
    if (one_site) columns.runs = options.clients.value_or(1);
  }
  columns.time = options.time;
  columns.derived = options.derived;
  columns.features = options.features;
  columns.exclude = options.exclude;
  columns.categorical = options.categorical;
  columns.categories = options.categories;
  columns.notices = true;
  columns.table.missing = options.missing;
  columns.table.delimiter = options.delimiter;
  columns.table.decimal = options.decimal;
  columns.table.header = options.header;
  columns.scaling.kind = options.scaling.value_or(Scaling::kNorm);
  columns.scaling.ranges = options.ranges;
  SplitOptions deal;
  deal.split = split;
  deal.clients = options.clients.value_or(0);
  deal.steps = options.steps.value_or(0);
  Dataset dataset = LoadDataset(options.data, columns);
  Source source = DealOut(std::move(dataset), deal, options);
  source.files = options.data;
  return source;
}

}  // namespace

Source OpenSource(const SourceOptions& options) {
  CheckCount(options.clients, "clients");
  CheckCount(options.steps, "steps");
  if (options.data.empty())
    throw Error(OptionName("data") + " names nothing; give synthetic, a recipe or files");
  const std::string& first = options.data.front();
  const bool alone = options.data.size() == 1;
  if (alone && first == "synthetic") return OpenFleet(options);
  if (alone && (IsRecipe(first) || !LooksLikeFile(first))) {
    return OpenRecipe(FindRecipe(first), options);
  }
  return OpenFiles(options);
}

Split ParseSplit(const std::string& name) {
  for (const Split split :
       {Split::kIid, Split::kRuns, Split::kSite, Split::kColumn, Split::kOrder}) {
    if (name == Name(split)) return split;
  }
  throw Error("unknown split '" + name + "'; there are: iid, runs, site, column, order");
}

Scaling ParseScaling(const std::string& name) {
  for (const Scaling scaling : {Scaling::kNorm, Scaling::kRange}) {
    if (name == Name(scaling)) return scaling;
  }
  throw Error("unknown scaling '" + name + "'; there are: norm, range");
}

char ParseDelimiter(const std::string& name) {
  if (name.size() == 1) return name[0];
  if (name == "tab" || name == "\\t") return '\t';
  if (name == "semicolon") return ';';
  if (name == "comma") return ',';
  if (name == "blank") return ' ';
  throw Error("unknown delimiter '" + name +
              "'; give a character, or tab, semicolon, comma or blank");
}

char ParseDecimal(const std::string& name) {
  if (name == "." || name == "point") return '.';
  if (name == "," || name == "comma") return ',';
  throw Error("the decimal mark cannot be '" + name + "'; there are: point, comma");
}

}  // namespace polykern
