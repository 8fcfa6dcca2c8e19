#include "polykern/results/report.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include "polykern/core/error.h"
#include "polykern/results/result.h"
#include "polykern/results/result_schema_internal.h"

namespace polykern {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostShown = 400;       // of a curve: about as many as a chart has pixels
constexpr std::size_t kRunsWithWeights = 12;  // of each result
constexpr double kWeightUnit = 1e4;           // weights travel as whole numbers

/// To six digits: finer than a chart is drawn.
Json Short(const Json& value) {
  if (!value.is_number()) return value;
  const auto number = value.get<double>();
  char text[32];
  const auto end =
      std::to_chars(text, text + sizeof text, number, std::chars_format::general, 6).ptr;
  double rounded = number;
  std::from_chars(text, end, rounded);
  return rounded;
}

/// The mean of some points of a curve, each as heavy as its steps; null: none has a value.
Json MeanOfPoints(const Json& steps, const Json& values, std::size_t start, std::size_t end) {
  if (end - start == 1) return values[start];
  double sum = 0;
  double weight = 0;
  for (std::size_t i = start; i < end; ++i) {
    if (values[i].is_null()) continue;
    const double width = steps[i].get<double>() - (i == 0 ? 0 : steps[i - 1].get<double>());
    sum += width * values[i].get<double>();
    weight += width;
  }
  return weight > 0 ? Json(sum / weight) : Json();
}

/// Joins neighbouring points until there are few enough: the mean error and coverage of their
/// steps, and the regret at their end.
Json Thinned(const Json& curves) {
  const Json& steps = curves["step"];
  const std::size_t joined = (steps.size() + kMostShown - 1) / kMostShown;
  Json thin = {{"step", Json::array()}, {"mse", Json::array()}, {"regret", Json::array()}};
  for (std::size_t i = 0; i < steps.size(); i += joined) {
    const std::size_t end = std::min(steps.size(), i + joined);
    thin["step"].push_back(steps[end - 1]);
    for (const char* mean : {"mse", "coverage"}) {
      if (!curves.contains(mean)) continue;
      thin[mean].push_back(Short(MeanOfPoints(steps, curves[mean], i, end)));
    }
    thin["regret"].push_back(Short(curves["regret"][end - 1]));
    if (curves.contains("epsilon")) thin["epsilon"].push_back(Short(curves["epsilon"][end - 1]));
  }
  if (curves.contains("coverage") && !thin.contains("coverage")) thin["coverage"] = Json::array();
  return thin;
}

/// Every number of a list of lists in kWeightUnit.
void InUnits(Json& list) {
  if (list.is_number()) {
    list = std::lround(kWeightUnit * list.get<double>());
    return;
  }
  for (Json& item : list) InUnits(item);
}

Json ForPage(const ReportSource& source) {
  Json result = Json::parse(source.json, nullptr, false);
  if (result.is_discarded()) {
    throw Error(source.name + ": this is not JSON; the file is damaged or is not a result.json");
  }
  CheckResult(result, source.name);
  std::size_t with_weights = 0;
  for (Json& run : result["runs"]) {
    run["curves"] = Thinned(run["curves"]);
    for (const char* quantiles : {"client_regret", "client_coverage"}) {
      for (Json& one : run[quantiles]) one = Short(one);
    }
    for (const char* score : {"mse", "skill", "coverage"}) {
      if (run["client_scores"].is_null() || !run["client_scores"].contains(score)) continue;
      for (Json& one : run["client_scores"][score]) one = Short(one);
    }
    Json& weights = run["client_weights"];
    if (weights.is_null()) continue;
    if (++with_weights > kRunsWithWeights) {
      weights = nullptr;
      continue;
    }
    InUnits(weights["last"]);
    InUnits(weights["trace"]);
  }
  return {{"name", source.name}, {"result", std::move(result)}};
}

}  // namespace

std::string ReportHtml(std::string_view page, const std::vector<ReportSource>& sources) {
  Json results = Json::array();
  for (const ReportSource& source : sources) results.push_back(ForPage(source));
  Json labels = Json::array();
  for (const OptionLabel& option : OptionLabels()) labels.push_back({option.key, option.label});
  const Json content = {{"results", results}, {"schema", SchemaJson()}, {"labels", labels}};
  // A "<" inside JSON can only stand in a text, where it may be written by its number: so no text
  // can end the element that holds it.
  std::string escaped;
  for (const char c : content.dump(-1, ' ', true, Json::error_handler_t::replace)) {
    if (c == '<') {
      escaped += "\\u003c";
    } else {
      escaped += c;
    }
  }
  const std::size_t mark = page.find(kReportMark);
  assert(mark != std::string_view::npos);
  std::string html(page.substr(0, mark));
  html += escaped;
  html += page.substr(mark + kReportMark.size());
  return html;
}

}  // namespace polykern
