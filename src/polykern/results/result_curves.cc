#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include "polykern/results/field_kinds_internal.h"
#include "polykern/results/result_schema_internal.h"

namespace polykern {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostPoints = 1000;

struct CurvesView {
  Json step = Json::array();
  Json mse = Json::array();
  Json regret = Json::array();
  Json coverage = Nothing();
  Json epsilon = Nothing();
};

const ObjectOf<CurvesView>& CurveFields() {
  using Of = const CurvesView&;
  static const ObjectOf<CurvesView> fields(
      "Curves",
      {{Numbers("step"), [](Of v) { return v.step; }},
       {Numbers("mse", {"step"}, Null::kItems), [](Of v) { return v.mse; }},
       {Numbers("regret", {"step"}, Null::kItems), [](Of v) { return v.regret; }},
       {Optional(Numbers("coverage", {"step"}, Null::kItems)), [](Of v) { return v.coverage; }},
       {Optional(Numbers("epsilon", {"step"}, Null::kItems)), [](Of v) { return v.epsilon; }}});
  return fields;
}

/// The mean of those that are there; null: none is.
Json MeanOf(std::span<const double> values) {
  std::vector<double> numbers;
  std::ranges::copy_if(values, std::back_inserter(numbers),
                       [](double value) { return !std::isnan(value); });
  return numbers.empty() ? Json() : Json(SpreadOf(numbers).mean);
}

/// A curve of at most kMostPoints points, each for a window of equally many steps: the window's
/// mean error and coverage, and the regret and the epsilon at its end. No error (null) if no client
/// took part.
CurvesView CurvesOf(const RowResult& row) {
  const std::size_t steps = row.step_mse.size();
  const std::size_t window = std::max<std::size_t>(1, (steps + kMostPoints - 1) / kMostPoints);
  CurvesView curves;
  if (!row.step_coverage.empty()) curves.coverage = Json::array();
  if (!row.step_epsilon.empty()) curves.epsilon = Json::array();
  for (std::size_t start = 0; start < steps; start += window) {
    const std::size_t end = std::min(steps, start + window);
    const auto mean = [&](std::span<const double> values) {
      return MeanOf(values.subspan(start, end - start));
    };
    curves.step.push_back(end);
    curves.mse.push_back(mean(row.step_mse));
    curves.regret.push_back(row.has_regret ? Json(row.step_regret[end - 1]) : Json());
    if (row.step_coverage.size() == steps) curves.coverage.push_back(mean(row.step_coverage));
    if (row.step_epsilon.size() == steps) curves.epsilon.push_back(row.step_epsilon[end - 1]);
  }
  return curves;
}

}  // namespace

const ObjectType& CurvesType() {
  return CurveFields().type();
}

Json CurvesJson(const RowResult& row) {
  return CurveFields().Write(CurvesOf(row));
}

}  // namespace polykern
