#include "polykern/data/input_columns.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "polykern/core/error.h"
#include "polykern/core/text.h"

namespace polykern {
namespace {

/// FNV-1a: the same on every machine.
std::uint32_t TextHash(std::string_view text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

}  // namespace

const char* CategoriesName(Categories categories) {
  return categories == Categories::kCode ? "code" : "onehot";
}

Categories ParseCategories(const std::string& name) {
  for (const Categories categories : {Categories::kCode, Categories::kOneHot}) {
    if (name == CategoriesName(categories)) return categories;
  }
  throw Error("unknown categories '" + name + "'; there are: code, onehot");
}

InputColumns::InputColumns(const Table& table, std::span<const std::size_t> columns,
                           std::span<const std::string> categorical, Categories categories)
    : table_(table) {
  for (const std::size_t column : columns) {
    const std::string& name = table.columns[column];
    const bool text = std::ranges::find(categorical, name) != categorical.end();
    if (text && categories == Categories::kOneHot) {
      columns_.push_back(MarkTexts(column));
    } else {
      columns_.push_back({column});
      names_.push_back(name);
    }
  }
  for (const std::size_t column : columns) {
    std::size_t missing = 0;
    for (std::size_t row = 0; row < table.rows(); ++row)
      missing += std::isnan(table.At(row, column));
    if (missing == 0) continue;
    if (missing == table.rows()) {
      throw Error("column " + Quoted(table.columns[column]) +
                  " has no value in any row; leave it " + "out with " +
                  OptionName("exclude", table.columns[column]));
    }
    incomplete_.push_back(column);
    names_.push_back(table.columns[column] + ".missing");
    marks_.push_back(names_.back());
  }
  for (const std::string& mark : marks_) {
    if (std::ranges::count(names_, mark) > 1) {
      throw Error("two inputs are called " + Quoted(mark) + "; rename the column with this name");
    }
  }
}

InputColumns::Column InputColumns::MarkTexts(std::size_t column) {
  const std::string& name = table_.columns[column];
  const std::vector<std::string>& labels = table_.labels[column];
  const bool hashed = labels.size() > kMostOneHot;
  Column marked{column, hashed ? kMostOneHot : labels.size()};
  for (std::uint32_t code = 0; code < labels.size(); ++code) {
    marked.places.push_back(hashed ? static_cast<std::uint32_t>(HashedPlace(labels[code])) : code);
  }
  for (std::size_t i = 0; i < marked.size; ++i) {
    names_.push_back(hashed ? name + "#" + std::to_string(i) : name + "=" + labels[i]);
    marks_.push_back(names_.back());
  }
  return marked;
}

void InputColumns::Fill(std::size_t row, std::span<double> inputs) const {
  assert(inputs.size() == names_.size());
  std::size_t next = 0;
  for (const Column& column : columns_) {
    const double value = table_.At(row, column.column);
    if (column.places.empty()) {
      inputs[next] = value;
    } else {
      std::fill_n(inputs.begin() + static_cast<std::ptrdiff_t>(next), column.size, 0.0);
      if (!std::isnan(value)) inputs[next + column.places[static_cast<std::size_t>(value)]] = 1;
    }
    next += column.size;
  }
  for (const std::size_t column : incomplete_) {
    inputs[next++] = std::isnan(table_.At(row, column)) ? 1 : 0;
  }
}

std::size_t HashedPlace(std::string_view text) {
  return TextHash(text) % static_cast<std::uint32_t>(kMostOneHot);
}

void RunningMeans::Fill(std::span<float> x) {
  assert(x.size() == sum_.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i])) {
      x[i] = count_[i] > 0 ? static_cast<float>(sum_[i] / count_[i]) : 0;
    } else {
      sum_[i] += static_cast<double>(x[i]);
      ++count_[i];
    }
  }
}

std::vector<double> RunningMeans::Save() const {
  std::vector<double> saved = sum_;
  saved.insert(saved.end(), count_.begin(), count_.end());
  return saved;
}

void RunningMeans::Load(std::span<const double> saved) {
  if (saved.size() != 2 * sum_.size()) return;
  std::ranges::copy(saved.first(sum_.size()), sum_.begin());
  std::ranges::copy(saved.last(sum_.size()), count_.begin());
}

void ImputeMeans(std::span<const std::uint32_t> rows, std::size_t dimension, std::span<float> x) {
  RunningMeans means(dimension);
  for (const std::uint32_t row : rows) means.Fill(x.subspan(row * dimension, dimension));
}

}  // namespace polykern
