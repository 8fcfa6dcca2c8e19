#include "run_remarks.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "polykern/algorithms/registry.h"
#include "polykern/results/result.h"
#include "polykern/results/text_table.h"

namespace polykern {
namespace {

std::string ThreeDigits(double value) {
  std::ostringstream text;
  text << std::setprecision(3) << value;
  return text.str();
}

/// Where nothing beats the naive predictors. `no_lags`: the last label is better, and no input.
std::string WhatToTry(const std::vector<RowResult>& results, bool no_lags,
                      const SourceOptions& options) {
  if (no_lags) return "; try --lags " + std::to_string(options.derived.ahead);
  const RowResult& first = results.front();
  const auto is_gram = [](const RowResult& r) { return r.row.algorithm == "pof-gram"; };
  const bool suits = SuitsLoss("pof-gram", first.row.options.loss);
  if (suits && std::ranges::none_of(results, is_gram)) return "; try -a pof-gram";
  return "; try other inputs, or more rows";
}

/// What the errors are to be compared with, and whether it is worth its while.
std::string NaiveRemarks(const std::vector<RowResult>& results, const SourceOptions& options,
                         const Source& source) {
  if (results.empty() || !results.front().naive) return "";
  const Yardsticks& naive = *results.front().naive;
  std::string text = "Naive: last label " + Fixed(1e3 * naive.last_label, 2) + ", running mean " +
                     Fixed(1e3 * naive.running_mean, 2) + " (MSE x 1e-3).\n";
  if (std::ranges::any_of(results, [](const RowResult& r) { return r.skill().value_or(-1) > 0; })) {
    return text;
  }
  const bool last = naive.last_label <= naive.running_mean;
  const bool ordered = source.split == "order" || source.split == "column";
  text += std::string("No algorithm beats the ") + (last ? "last label" : "running mean");
  return text + WhatToTry(results, last && ordered && options.derived.lags.empty(), options) +
         ".\n";
}

/// The one with the lowest error; null if all diverged.
const RowResult* BestOf(const std::vector<RowResult>& results) {
  const RowResult* best = nullptr;
  for (const RowResult& r : results) {
    if (!r.divergence && (best == nullptr || r.mse.mean < best->mse.mean)) best = &r;
  }
  return best;
}

double UnitOfLabels(const Stream& stream) {
  return stream.InOwnUnit(1) - stream.InOwnUnit(0);
}

std::string BestRemark(const std::vector<RowResult>& results, const Source& source) {
  const RowResult* best = BestOf(results);
  if (best == nullptr) return "";
  const double rmse = std::sqrt(best->mse.mean) * UnitOfLabels(*source.stream);
  std::string text =
      results.size() > 1 ? "Lowest error: " + DescribeRow(*best, results) + "; its " : "";
  text +=
      "RMSE" + (source.target.empty() ? "" : " of " + source.target) + " is " + ThreeDigits(rmse);
  if (const auto r2 = best->r2()) text += ", R2 " + Fixed(*r2, 3);
  return text + ".\n";
}

std::string BoundRemark(const std::vector<RowResult>& results) {
  std::size_t over = 0;
  bool bounded = false;
  bool unit = true;
  for (const RowResult& r : results) {
    if (r.divergence) continue;
    bounded |= r.regret_bound.has_value();
    if (r.regret_bound) unit &= r.unit_losses;
    over += r.over_bound;
  }
  if (!bounded) return "";
  if (over > 0) {
    return "Theorem 2's bound is broken by " + std::to_string(over) + " client runs.\n";
  }
  return unit ? "Theorem 2's bound on the regret holds for every client.\n"
              : "Theorem 2's bound needs losses in [0, 1]; no client with such losses breaks it.\n";
}

/// How the intervals of the best row fared.
std::string IntervalRemark(const std::vector<RowResult>& results, const Stream& stream) {
  const RowResult* best = BestOf(results);
  if (best == nullptr || !best->coverage) return "";
  const double width = *best->interval_width * UnitOfLabels(stream);
  std::string text = "Intervals of " + DescribeRow(*best, results) + ": " +
                     Fixed(100 * *best->coverage, 1) +
                     " % of the labels are within them, their mean width is " + ThreeDigits(width);
  std::vector<double> clients = best->client_coverage;
  std::erase_if(clients, [](double part) { return std::isnan(part); });
  std::ranges::sort(clients);
  if (clients.size() > 1) {
    const auto at = [&](double part) {
      const double place = part * static_cast<double>(clients.size() - 1);
      return Fixed(100 * clients[static_cast<std::size_t>(std::lround(place))], 1);
    };
    text += "; of 90 % of the clients, " + at(0.05) + " to " + at(0.95) + " % of the labels";
  }
  return text + ".\n";
}

}  // namespace

std::string DescribeRow(const RowResult& r, const std::vector<RowResult>& all) {
  std::vector<std::string> settings;
  if (r.kernels > 0) settings.push_back("M = " + std::to_string(r.kernels));
  if (r.features > 0) settings.push_back("D = " + std::to_string(r.features));
  const auto row = static_cast<std::size_t>(&r - all.data());
  for (const VaryingOption& option : VaryingOptions(all)) {
    if (!option.values[row].empty()) settings.push_back(option.label + " = " + option.values[row]);
  }
  std::string text = r.row.algorithm;
  for (const std::string& one : settings) {
    text += (&one == &settings.front() ? " with " : ", ") + one;
  }
  return text;
}

std::string RunRemarks(const std::vector<RowResult>& results, const Source& source,
                       const SourceOptions& options) {
  return NaiveRemarks(results, options, source) + BestRemark(results, source) +
         BoundRemark(results) + IntervalRemark(results, *source.stream);
}

}  // namespace polykern
