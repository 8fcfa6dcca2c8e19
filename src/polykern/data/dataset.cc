#include "polykern/data/dataset.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "polykern/core/error.h"
#include "polykern/core/text.h"

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
                  "; take it out of the inputs");
    }
  };
  check("site", options.site);
  check("client", options.client);
  if (Contains(options.features, options.target) || Contains(options.categorical, options.target)) {
    throw Error("column " + Quoted(options.target) +
                " is both the target and an input; take it out of the inputs");
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

/// The files' names without folder and ending, or whole paths where those are not different.
std::vector<std::string> FileNames(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    std::string stem = std::filesystem::path(path).stem().string();
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

void ScaleRows(const Table& table, const std::vector<std::size_t>& inputs, std::size_t target,
               const ScalingOptions& options, Dataset& data) {
  std::vector<double> row(inputs.size());
  const auto gather = [&](std::size_t index) {
    for (std::size_t i = 0; i < inputs.size(); ++i) row[i] = table.At(index, inputs[i]);
  };
  ScaleFitter fitter(options, data.feature_names, data.target_name);
  for (std::size_t i = 0; i < table.rows(); ++i) {
    gather(i);
    fitter.Add(row, table.At(i, target));
  }
  try {
    data.scale = fitter.Fit();
  } catch (const Error& error) {
    throw Error(table.paths.empty() ? error.marked() : table.paths.front() + ": " + error.marked());
  }
  data.dimension = inputs.size();
  data.x.resize(table.rows() * data.dimension);
  data.y.resize(table.rows());
  for (std::size_t i = 0; i < table.rows(); ++i) {
    gather(i);
    const double y = table.At(i, target);
    const std::span<float> x = std::span(data.x).subspan(i * data.dimension, data.dimension);
    data.clipped_inputs += data.scale.ScaleInputs(row, x);
    data.clipped_labels += data.scale.ClipsLabel(y) ? 1 : 0;
    data.y[i] = data.scale.ScaleLabel(y);
  }
}

}  // namespace

Dataset MakeDataset(const Table& table, const DatasetOptions& options) {
  CheckRoles(options);
  const std::vector<std::size_t> inputs = FindInputs(table, options);
  const std::size_t target = table.Find(options.target);
  Dataset data;
  data.name = options.name;
  data.target_name = options.target;
  for (const std::size_t column : inputs) data.feature_names.push_back(table.columns[column]);
  data.unused_columns = table.unused;
  data.dropped_rows = table.dropped_rows;
  AssignSites(table, options, data);
  if (!options.client.empty()) {
    const std::size_t column = table.Find(options.client);
    data.client = Codes(table, column);
    data.client_names = table.labels[column];
  }
  ScaleRows(table, inputs, target, options.scaling, data);
  return data;
}

Dataset LoadDataset(const std::vector<std::string>& paths, const DatasetOptions& options) {
  if (paths.empty()) throw Error("no file is given; name at least one CSV file");
  if (options.target.empty()) {
    const CsvFile file = OpenCsv(paths.front(), options.table.delimiter, options.table.header);
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
  for (const std::string& key : {options.site, options.client}) {
    if (!key.empty()) choice.keys.push_back(key);
  }
  Dataset data = MakeDataset(ReadTable(paths, choice, options.table), options);
  if (data.name.empty()) data.name = std::filesystem::path(paths.front()).stem().string();
  return data;
}

}  // namespace polykern
