#include "polykern/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/data/notices.h"

namespace polykern {
namespace {

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

void CheckRoles(const DatasetOptions& options) {
  if (options.target.empty()) throw Error("no target is given; name the column to predict");
  const auto check = [&](const std::string& role, const std::string& column) {
    if (column.empty()) return;
    if (column == options.target) {
      throw Error("column " + Quoted(column) + " is both the target and the " + role +
                  "; choose another " + role);
    }
    if (Contains(options.features, column)) {
      throw Error("column " + Quoted(column) + " is both an input and the " + role +
                  "; remove it from the inputs");
    }
  };
  check("site", options.site);
  check("client", options.client);
  if (Contains(options.time, options.target)) check("time", options.target);
  if (Contains(options.features, options.target) || Contains(options.categorical, options.target)) {
    throw Error("column " + Quoted(options.target) +
                " is both the target and an input; remove it from the inputs");
  }
  for (const std::string& name : options.features) {
    if (std::ranges::count(options.features, name) > 1) {
      throw Error("column " + Quoted(name) + " is an input twice; name it once");
    }
  }
}

std::vector<std::size_t> FindInputs(const Table& table, const DatasetOptions& options) {
  std::vector<std::size_t> inputs;
  for (const std::string& name : options.features) inputs.push_back(table.Find(name));
  if (!inputs.empty()) return inputs;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const std::string& name = table.columns[i];
    const bool other = name == options.target || name == options.site || name == options.client;
    if (!other && !Contains(options.exclude, name)) inputs.push_back(i);
  }
  if (inputs.empty() && !table.decimal_comma.empty()) throw Error(table.decimal_comma);
  if (inputs.empty()) {
    throw Error(table.paths.front() + ": no input column is left beside the target " +
                Quoted(options.target) + "; name the inputs, text columns as categorical");
  }
  return inputs;
}

/// The codes of a key column, one for each row.
std::vector<std::uint32_t> Codes(const Table& table, std::size_t column) {
  std::vector<std::uint32_t> codes(table.rows());
  for (std::size_t row = 0; row < codes.size(); ++row) {
    codes[row] = static_cast<std::uint32_t>(table.At(row, column));
  }
  return codes;
}

/// A file's name without folder and ending.
std::string FileStem(const std::string& path) {
  std::filesystem::path name = std::filesystem::path(path).filename();
  if (name.extension() == ".gz") name = name.stem();
  return name.stem().string();
}

/// The files' names without folder and ending, or whole paths where those are not different.
std::vector<std::string> FileNames(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    std::string stem = FileStem(path);
    if (Contains(names, stem)) return paths;
    names.push_back(std::move(stem));
  }
  return names;
}

void AssignSites(const Table& table, const DatasetOptions& options, Dataset& data) {
  if (!options.site.empty()) {
    const std::size_t column = table.Find(options.site);
    data.site = Codes(table, column);
    data.site_names = table.labels[column];
  } else if (options.site_per_file && table.paths.size() > 1) {
    data.site = table.file;
    data.site_names = options.site_names.empty() ? FileNames(table.paths) : options.site_names;
    if (data.site_names.size() != table.paths.size()) {
      throw Error(std::to_string(data.site_names.size()) + " site names for " +
                  std::to_string(table.paths.size()) + " files; give one name for each file");
    }
  } else {
    data.site.assign(table.rows(), 0);
    data.site_names = {"all"};
  }
}

void AssignClients(const Table& table, const DatasetOptions& options, Dataset& data) {
  if (!options.client.empty()) {
    const std::size_t column = table.Find(options.client);
    data.client = Codes(table, column);
    data.client_names = table.labels[column];
  } else if (options.owners == RowOwners::kSites) {
    data.client = data.site;
    data.client_names = data.site_names;
  } else if (options.owners == RowOwners::kRuns) {
    const std::size_t rows = table.rows();
    if (options.runs > rows) {
      throw Error(table.paths.front() + " has " + std::to_string(rows) + " rows, but " +
                  OptionName("clients") + " is " + std::to_string(options.runs) +
                  "; choose at most " + std::to_string(rows));
    }
    std::vector<std::uint32_t> sorted(rows);  // runs of times, if there are times
    for (std::size_t row = 0; row < rows; ++row) sorted[row] = static_cast<std::uint32_t>(row);
    if (!table.time.empty())
      std::ranges::stable_sort(sorted, {}, [&](std::uint32_t row) { return table.time[row]; });
    data.client.resize(rows);
    for (std::size_t i = 0; i < rows; ++i) {
      data.client[sorted[i]] = static_cast<std::uint32_t>(i * options.runs / rows);
    }
    for (std::size_t k = 0; k < options.runs; ++k) data.client_names.push_back(std::to_string(k));
  }
  if (!data.client.empty())
    data.order = OrderRows(data.client, data.client_names.size(), data.time);
}

void CheckDerived(const DerivedInputs& derived, const Dataset& data) {
  derived.Check(!data.time.empty() && std::ranges::all_of(data.time, IsDate));
  if (derived.lags.empty() && derived.ahead == 1) return;
  if (data.client.empty()) {
    throw Error(OptionName(derived.lags.empty() ? "ahead" : "lags") +
                " needs rows in their order; leave out " + OptionName("split"));
  }
  std::size_t longest = 0;
  for (std::size_t k = 0; k < data.order.clients(); ++k) {
    longest = std::max(longest, data.order.Of(k).size());
  }
  if (derived.ahead > longest) {
    throw Error(OptionName("ahead") + " is " + std::to_string(derived.ahead) +
                ", but the longest client has " + std::to_string(longest) +
                " rows; choose at most that");
  }
  if (derived.lags.empty()) return;
  const std::size_t lag = std::ranges::max(derived.lags);
  if (lag >= longest) {
    throw Error(OptionName("lags") + " has " + std::to_string(lag) + ", but the longest client " +
                "has " + std::to_string(longest) + " rows; choose less than that");
  }
}

/// The rows of a table as what a client sees: its columns, then what is derived. Reads the data
/// set's order and times.
class RowInputs {
 public:
  RowInputs(const Table& table, const InputColumns& inputs, std::size_t target,
            const DerivedInputs& derived, Range labels, const Dataset& data)
      : table_(table),
        inputs_(inputs),
        target_(target),
        derived_(derived),
        labels_(labels),
        data_(data),
        row_(inputs.names().size() + derived.size()) {
    if (derived.lags.empty() && derived.ahead == 1) return;
    place_.resize(table.rows());
    for (std::uint32_t i = 0; i < data.order.rows.size(); ++i) place_[data.order.rows[i]] = i;
  }

  std::span<const double> Of(std::size_t row) {
    std::size_t next = inputs_.names().size();
    const std::size_t known = Known(row);
    inputs_.Fill(known, std::span(row_).first(next));
    for (const std::size_t lag : derived_.lags) row_[next++] = Label(row, lag);
    if (!derived_.calendar.empty()) {
      CalendarInputs(derived_.calendar, data_.time[known], std::span(row_).subspan(next));
    }
    return row_;
  }

 private:
  /// The client's row that is known when this one is predicted; before the first, this one.
  std::size_t Known(std::size_t row) const {
    if (derived_.ahead == 1) return row;
    const std::size_t place = place_[row];
    const std::size_t first = data_.order.first[data_.client[row]];
    const std::size_t before = derived_.ahead - 1;
    return place < first + before ? row : data_.order.rows[place - before];
  }

  /// The label of the client's row so many before this one; before the first, the middle.
  double Label(std::size_t row, std::size_t lag) const {
    const std::size_t place = place_[row];
    const std::size_t first = data_.order.first[data_.client[row]];
    if (place < first + lag) return labels_.low + (labels_.high - labels_.low) / 2;
    const double label = table_.At(data_.order.rows[place - lag], target_);
    return std::clamp(label, labels_.low, labels_.high);
  }

  const Table& table_;
  const InputColumns& inputs_;
  const std::size_t target_;
  const DerivedInputs& derived_;
  const Range labels_;
  const Dataset& data_;
  std::vector<double> row_;
  std::vector<std::uint32_t> place_;  // of every row in the order
};

/// The declared range of the labels, or that of all rows.
Range LabelRange(const Table& table, std::size_t target, const ScalingOptions& options) {
  for (const DeclaredRange& declared : options.ranges) {
    if (declared.column == table.columns[target]) return declared.range;
  }
  Range range{table.At(0, target), table.At(0, target)};
  for (std::size_t row = 1; row < table.rows(); ++row) {
    range.low = std::min(range.low, table.At(row, target));
    range.high = std::max(range.high, table.At(row, target));
  }
  return range;
}

/// The ranges of derived inputs are known; marks stay 0 and 1.
ScalingOptions WithDerived(ScalingOptions options, const DerivedInputs& derived, Range labels,
                           const std::string& target, const std::vector<std::string>& marks) {
  if (options.kind != Scaling::kRange) return options;
  for (const std::string& mark : marks) options.ranges.push_back({mark, {-1, 1}});
  const std::vector<std::string> names = derived.Names(target);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Range range = i < derived.lags.size() ? labels : Range{-1, 1};
    const bool declared = std::ranges::any_of(
        options.ranges, [&](const DeclaredRange& other) { return other.column == names[i]; });
    if (!declared && range.low < range.high) options.ranges.push_back({names[i], range});
  }
  return options;
}

void ScaleRows(const Table& table, const InputColumns& inputs, std::size_t target,
               const DatasetOptions& options, Dataset& data) {
  const Range labels = LabelRange(table, target, options.scaling);
  RowInputs rows(table, inputs, target, options.derived, labels, data);
  ScaleFitter fitter(
      WithDerived(options.scaling, options.derived, labels, data.target_name, inputs.marks()),
      data.feature_names, data.target_name);
  for (std::size_t i = 0; i < table.rows(); ++i) {
    fitter.Add(rows.Of(i), table.At(i, target));
  }
  try {
    data.scale = fitter.Fit();
  } catch (const Error& error) {
    const std::string why = data.notices.empty() ? "" : " (" + data.notices.front() + ")";
    const std::string where = table.paths.empty() ? "" : table.paths.front() + ": ";
    throw Error(where + error.marked() + why);
  }
  data.dimension = data.feature_names.size();
  data.x.resize(table.rows() * data.dimension);
  data.y.resize(table.rows());
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const double y = table.At(i, target);
    const std::span<float> x = std::span(data.x).subspan(i * data.dimension, data.dimension);
    data.clipped_inputs += data.scale.ScaleInputs(rows.Of(i), x);
    data.clipped_labels += data.scale.ClipsLabel(y) ? 1 : 0;
    data.y[i] = data.scale.ScaleLabel(y);
  }
}

/// What is predicted so far ahead begins with a client's later rows.
void LeaveOutFirstRows(std::size_t count, RowOrder& order) {
  RowOrder left{.rows = {}, .first = {0}, .unsorted = order.unsorted, .doubled = order.doubled};
  for (std::size_t k = 0; k < order.clients(); ++k) {
    const auto rows = order.Of(k);
    const auto kept = rows.subspan(std::min(count, rows.size()));
    left.rows.insert(left.rows.end(), kept.begin(), kept.end());
    left.first.push_back(static_cast<std::uint32_t>(left.rows.size()));
  }
  order = std::move(left);
}

/// Puts means in the place of inputs that are missing: of the client's rows before, or the file's.
void ImputeRows(const Table& table, Dataset& data) {
  if (!data.client.empty()) {
    for (std::size_t k = 0; k < data.order.clients(); ++k) {
      ImputeMeans(data.order.Of(k), data.dimension, data.x);
    }
  } else {
    const RowOrder files = OrderRows(table.file, table.paths.size(), {});
    for (std::size_t f = 0; f < files.clients(); ++f) {
      ImputeMeans(files.Of(f), data.dimension, data.x);
    }
  }
  for (float& value : data.x) {  // rows that were left out
    if (std::isnan(value)) value = 0;
  }
}

/// What is worth saying of the columns and the clients.
std::vector<std::string> NoticesOf(const Table& table, std::vector<std::size_t> columns,
                                   std::size_t target, const DatasetOptions& options,
                                   const Dataset& data) {
  columns.push_back(target);
  std::vector<std::string> ranged;
  for (const DeclaredRange& declared : options.scaling.ranges) ranged.push_back(declared.column);
  std::vector<std::string> notices = NoticeColumns(table, columns, ranged);
  if (!table.decimal_comma.empty()) notices.push_back(table.decimal_comma);
  if (!options.client.empty()) {
    const std::string clients = NoticeClients(data.order, options.client);
    if (!clients.empty()) notices.push_back(clients);
  }
  return notices;
}

}  // namespace

Dataset MakeDataset(const Table& table, const DatasetOptions& options) {
  CheckRoles(options);
  const std::vector<std::size_t> columns = FindInputs(table, options);
  const InputColumns inputs(table, columns, options.categorical, options.categories);
  const std::size_t target = table.Find(options.target);
  Dataset data;
  data.name = options.name;
  data.target_name = options.target;
  data.feature_names = inputs.names();
  for (const std::string& name : options.derived.Names(options.target)) {
    if (Contains(inputs.names(), name)) {
      throw Error("there is a column " + Quoted(name) + " already; leave it out, or the lag or " +
                  "calendar with this name");
    }
    data.feature_names.push_back(name);
  }
  data.unused_columns = table.unused;
  data.dropped_rows = table.dropped_rows;
  AssignSites(table, options, data);
  data.time = table.time;
  AssignClients(table, options, data);
  CheckDerived(options.derived, data);
  if (options.notices) data.notices = NoticesOf(table, columns, target, options, data);
  ScaleRows(table, inputs, target, options, data);
  data.ahead = options.derived.ahead;
  data.lags = options.derived.lags.size();
  if (data.ahead > 1) LeaveOutFirstRows(data.ahead - 1, data.order);
  if (options.table.missing == MissingPolicy::kImpute) ImputeRows(table, data);
  return data;
}

Dataset LoadDataset(const std::vector<std::string>& paths, const DatasetOptions& options) {
  if (paths.empty()) throw Error("no file is given; name at least one CSV file");
  if (options.target.empty()) {
    const CsvFile file = OpenCsv(paths.front(), options.table.delimiter, options.table.header,
                                 options.table.decimal);
    throw Error(file.path + ": no target is given; as the column to predict, " +
                Suggest("", file.names));
  }
  CheckRoles(options);
  ColumnChoice choice;
  choice.columns = options.features;
  choice.columns.push_back(options.target);
  choice.other_numbers = options.features.empty();
  choice.exclude = options.exclude;
  choice.categorical = options.categorical;
  choice.time = options.time;
  choice.must_be = {options.target};
  for (const std::string& key : {options.site, options.client}) {
    if (!key.empty()) choice.keys.push_back(key);
  }
  Dataset data = MakeDataset(ReadTable(paths, choice, options.table), options);
  if (data.name.empty()) data.name = FileStem(paths.front());
  return data;
}

}  // namespace polykern
