#include "declared_data.h"

#include <algorithm>
#include <cmath>

#include "polykern/core/error.h"
#include "polykern/data/text.h"

namespace polykern {
namespace {

void CheckRange(const char* option, const ColumnRange& column) {
  if (column.low < column.high && std::isfinite(column.high - column.low)) return;
  throw Error(std::string(option) + " of " + Quoted(column.name) +
              " must be finite, the low end first");
}

Range ParseTargetRange(const std::string& text) {
  try {
    return ParseRange("=" + text).range;
  } catch (const Error&) {
    throw Error("--target-range '" + text + "' is not of the form LOW:HIGH");
  }
}

/// Nothing that is said about the data may be without effect.
void CheckScaling(const DeclaredData& o) {
  if (o.scaling != "range" && !o.ranges.empty()) {
    throw Error("--range does not go with --scaling " + o.scaling + "; leave out one of them");
  }
  if (o.scaling == "norm" && !o.has_norm) {
    throw Error(
        "--scaling norm needs --norm R, the largest norm that a sample's inputs have anywhere; "
        "--scaling range needs none, but the columns' ranges");
  }
  if (o.scaling != "norm" && o.has_norm) throw Error("--norm needs --scaling norm");
  if (o.scaling == "none" && !o.target_range.empty()) {
    throw Error(
        "--target-range is without effect while nothing is scaled: add a --range COLUMN=LOW:HIGH "
        "for each input, or --scaling norm, or leave it out");
  }
}

}  // namespace

void Declare(DeclaredData o, FederationConfiguration& f) {
  if (o.scaling.empty()) o.scaling = o.ranges.empty() ? "none" : "range";
  CheckScaling(o);
  f.scaling = o.scaling;
  if (!o.target.empty() && std::ranges::count(o.columns, o.target) > 0) {
    throw Error("--target " + Quoted(o.target) + " is one of the --columns as well");
  }
  for (const std::string& name : o.columns) {
    if (std::ranges::count(o.columns, name) > 1) {
      throw Error("--columns names " + Quoted(name) + " twice");
    }
    f.columns.push_back({name, 0, 1});
  }
  for (const DeclaredRange& declared : o.ranges) {
    if (std::ranges::count(o.ranges, declared.column, &DeclaredRange::column) > 1) {
      throw Error("--range is given twice for " + Quoted(declared.column));
    }
    const auto column = std::ranges::find(f.columns, declared.column, &ColumnRange::name);
    if (column == f.columns.end()) {
      throw Error("--range is given for " + Quoted(declared.column) + "; " +
                  Suggest(declared.column, o.columns));
    }
    *column = {declared.column, declared.range.low, declared.range.high};
    CheckRange("--range", *column);
  }
  if (f.scaling == "range" && (o.columns.empty() || o.ranges.size() != o.columns.size())) {
    throw Error("--scaling range needs --columns, and a --range COLUMN=LOW:HIGH for each of them");
  }
  f.target.name = o.target;
  if (!o.target_range.empty()) {
    const Range range = ParseTargetRange(o.target_range);
    f.target = {o.target, range.low, range.high};
    CheckRange("--target-range", f.target);
  } else if (f.scaling != "none") {
    throw Error("--target-range LOW:HIGH is needed: labels are scaled to [0, 1] by it");
  }
}

}  // namespace polykern
