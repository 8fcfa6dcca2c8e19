#include "polykern/paper/exhibits.h"

#include <algorithm>
#include <cmath>

#include "polykern/algorithms/registry.h"
#include "polykern/paper/beyond.h"
#include "polykern/paper/published_figures.h"

namespace polykern {
namespace {

/// The protocols a row is run in: weights that do not exist cannot be carried.
std::vector<bool> Protocols(const PaperRow& row) {
  return row.private_weights ? std::vector<bool>{true, false} : std::vector<bool>{false};
}

/// True if a table has this row.
bool Has(std::string_view table, const PaperRow& row) {
  const PaperFigures& any = row.published.begin()->second;  // all are alike in this
  return table == "table1" || (table == "table3" ? any.mse.deviation > 0 : any.regret.has_value());
}

/// Figure 2's exploration rates, 0.1 to 1, and its M.
std::vector<double> Explorations() {
  std::vector<double> rates;
  for (int tenth = 1; tenth <= 10; ++tenth) rates.push_back(tenth / 10.0);
  return rates;
}
constexpr std::size_t kFigure2Kernels[] = {1, 25};

Comparison CompareRow(std::string_view table, const PaperRow& row, bool carried,
                      const std::string& data, const PaperRun& run) {
  const PaperFigures& paper = row.published.at(data);
  const auto steps = static_cast<double>(run.steps);
  Comparison c;
  c.table = table;
  c.title = row.title;
  c.kernels = UplinkOf(row.row.algorithm, row.row.options).kernels;
  c.features = FeaturesOf(row.row.algorithm, row.row.options);
  c.private_weights = row.private_weights;
  c.data = data;
  c.carried = carried;
  c.diverged = run.diverged;
  if (table == "table4") {
    c.published = *paper.regret;
    c.measured = run.regret;
    c.published_cost = steps * 1e-3 * paper.mse.mean;
    c.cost = steps * run.mse.mean;
  } else {
    c.published = paper.mse;
    c.measured = {1e3 * run.mse.mean, 1e3 * run.mse.deviation};
    c.published_cost = paper.seconds;
    c.cost = 1e-6 * run.microseconds_per_sample * steps;
  }
  c.deviation = (c.measured.mean - c.published.mean) / c.published.mean;
  c.reproduced = !c.diverged && std::abs(c.deviation) <= kPaperTolerance;
  if (c.diverged) {
    c.note = "this run diverged";
  } else if (table != "table4") {
    if (!c.reproduced) c.note = WhyNot(row, data, carried, run.repetitions);
  } else if (c.reproduced && std::abs(c.cost / c.published_cost - 1) > kPaperTolerance) {
    c.reproduced = false;
    c.note =
        "near the published figure by chance: the squared error of the same run does not agree";
  } else if (!c.reproduced) {
    c.note =
        c.published.mean > c.published_cost
            ? "the published figure is above the cumulative loss T x MSE of Table 1, which "
              "regret (14) cannot be"
            : "the published figure is a large part of the cumulative loss T x MSE of Table 1; "
              "what it was measured against is not known";
  }
  return c;
}

std::string SeriesName(const PaperRow& row, bool carried) {
  if (!row.private_weights) return row.title;
  return row.title + ", M = " + std::to_string(*row.row.options.kernels_per_upload) + ", " +
         (carried ? "carried" : "reset");
}

Figure MakeFigure1(const std::string& data, const FindRun& find) {
  Figure figure;
  figure.chart = {.title = "Average regret of clients, " + data,
                  .x_label = "step t",
                  .y_label = "regret (14) / t"};
  figure.numbers.header = {"step"};
  for (const PaperRow& row : PaperRows()) {
    if (!Has("table4", row)) continue;
    for (const bool carried : Protocols(row)) {
      const PaperRun run = find(row.row, carried);
      ChartLine line{.name = SeriesName(row, carried), .dashed = !carried && row.private_weights};
      figure.numbers.rows.resize(std::max(figure.numbers.rows.size(), run.curve_steps.size()));
      figure.numbers.header.push_back(line.name + ": regret / t");
      figure.numbers.header.push_back(line.name + ": regret");
      for (std::size_t i = 0; i < run.curve_steps.size(); ++i) {
        const double step = run.curve_steps[i];
        const double regret = run.curve_regret[i];
        line.x.push_back(step);
        line.y.push_back(regret / step);
        std::vector<std::string>& cells = figure.numbers.rows[i];
        if (cells.empty()) cells.push_back(NumberText(step));
        cells.insert(cells.end(), {NumberText(regret / step), NumberText(regret)});
      }
      for (auto& cells : figure.numbers.rows) cells.resize(figure.numbers.header.size());
      figure.chart.lines.push_back(std::move(line));
    }
  }
  return figure;
}

Figure MakeFigure2(const std::string& data, const FindRun& find) {
  Figure figure;
  figure.chart = {.title = "Regret of POF-MKL against the exploration rate, " + data,
                  .x_label = "exploration rate xi",
                  .y_label = "regret (14) at the end, mean of clients"};
  figure.numbers.header = {"xi"};
  for (const double rate : Explorations()) figure.numbers.rows.push_back({NumberText(rate)});
  for (const std::size_t kernels : kFigure2Kernels) {
    ChartLine line{.name = "POF-MKL, M = " + std::to_string(kernels)};
    figure.numbers.header.push_back(line.name + ": regret");
    figure.numbers.header.push_back(line.name + ": deviation over clients");
    for (std::size_t i = 0; i < Explorations().size(); ++i) {
      const PaperRun run = find(PaperPofMkl(kernels, Explorations()[i]), false);
      line.x.push_back(Explorations()[i]);
      line.y.push_back(run.regret.mean);
      figure.numbers.rows[i].push_back(NumberText(line.y.back()));
      figure.numbers.rows[i].push_back(NumberText(run.regret.deviation));
    }
    figure.chart.lines.push_back(std::move(line));
  }
  return figure;
}

}  // namespace

std::vector<WantedRun> RunsOf(std::string_view exhibit) {
  if (exhibit == kBeyond) return BeyondWanted();
  std::vector<WantedRun> wanted;
  if (exhibit == "figure2") {
    for (const std::size_t kernels : kFigure2Kernels) {
      for (const double rate : Explorations())
        wanted.push_back({PaperPofMkl(kernels, rate), false});
    }
    return wanted;
  }
  for (const PaperRow& row : PaperRows()) {
    if (!Has(exhibit == "figure1" ? "table4" : exhibit, row)) continue;
    for (const bool carried : Protocols(row)) wanted.push_back({row.row, carried});
  }
  return wanted;
}

std::vector<Comparison> Compare(std::string_view table, const std::string& data,
                                const FindRun& find) {
  std::vector<Comparison> rows;
  for (const PaperRow& row : PaperRows()) {
    if (!Has(table, row)) continue;
    for (const bool carried : Protocols(row)) {
      rows.push_back(CompareRow(table, row, carried, data, find(row.row, carried)));
    }
  }
  return rows;
}

Figure MakeFigure(std::string_view figure, const std::string& data, const FindRun& find) {
  return figure == "figure1" ? MakeFigure1(data, find) : MakeFigure2(data, find);
}

}  // namespace polykern
