#include "reproduce_report.h"

#include <algorithm>
#include <cmath>

#include "console.h"
#include "polykern/algorithms/registry.h"

namespace polykern {
namespace {

using Json = PaperRuns::Json;

/// The protocols a row is run in: weights that nobody has cannot be carried.
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
                      const PaperData& data, const Json& run) {
  const PaperFigures& paper = row.published.at(data.recipe->name);
  const double steps = run["steps"].get<double>();
  Comparison c;
  c.table = table;
  c.row = &row;
  c.data = &data;
  c.carried = carried;
  c.diverged = run.contains("diverged");
  if (table == "table4") {
    c.published = *paper.regret;
    c.measured = {run["regret_mean"].get<double>(), run["regret_std"].get<double>()};
    c.published_cost = steps * 1e-3 * paper.mse.mean;
    c.cost = steps * run["mse"].get<double>();
  } else {
    c.published = paper.mse;
    c.measured = {1e3 * run["mse"].get<double>(), 1e3 * run["mse_std"].get<double>()};
    c.published_cost = paper.seconds;
    c.cost = 1e-6 * run["microseconds_per_sample"].get<double>() * steps;
  }
  c.deviation = (c.measured.mean - c.published.mean) / c.published.mean;
  c.reproduced = !c.diverged && std::abs(c.deviation) <= kPaperTolerance;
  if (c.diverged) {
    c.note = "this run diverged";
  } else if (table != "table4") {
    const auto repetitions = run["repetitions"].get<std::size_t>();
    if (!c.reproduced) c.note = WhyNot(row, data.recipe->name, carried, repetitions);
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

std::string PlusMinus(const Spread& spread) {
  return Fixed(spread.mean, 2) + " +- " + Fixed(spread.deviation, 2);
}

std::string OrDash(std::size_t count) {
  return count > 0 ? std::to_string(count) : "-";
}

const char* Weights(bool carried) {
  return carried ? "carried" : "reset";
}

std::vector<std::string> Header(std::string_view table) {
  std::vector<std::string> header = {"algorithm", "M", "D", "weights"};
  if (table == "table4") {
    header.insert(header.end(), {"regret published", "measured (14)", "deviation",
                                 "T x MSE published", "measured"});
  } else {
    header.insert(header.end(), {"MSE x 1e-3 published", "measured", "deviation"});
    if (table == "table1") header.insert(header.end(), {"seconds published", "measured"});
  }
  header.emplace_back("reproduced");
  return header;
}

std::vector<std::string> CellsOf(const Comparison& c, const std::string& mark) {
  const Row& row = c.row->row;
  const bool plain = c.table == "table1";
  std::vector<std::string> cells = {
      c.row->title,
      OrDash(UplinkOf(row.algorithm, row.options).kernels),
      OrDash(FeaturesOf(row.algorithm, row.options)),
      c.row->private_weights ? Weights(c.carried) : "-",
      plain ? Fixed(c.published.mean, 2) : PlusMinus(c.published),
      PlusMinus(c.measured),
      (c.deviation > 0 ? "+" : "") + Fixed(100 * c.deviation, 1) + " %"};
  if (c.table == "table1") {
    cells.insert(cells.end(), {Fixed(c.published_cost, 2), Fixed(c.cost, 5)});
  } else if (c.table == "table4") {
    cells.insert(cells.end(), {Fixed(c.published_cost, 2), Fixed(c.cost, 2)});
  }
  cells.push_back(mark);
  return cells;
}

std::string Heading(std::string_view table) {
  if (table == "table1") return "Table 1: mean squared error and run time of a client";
  if (table == "table3") return "Table 3: mean squared error and its spread over the feature draws";
  return "Table 4: regret and its spread over the clients";
}

std::string SeriesName(const PaperRow& row, bool carried) {
  if (!row.private_weights) return row.title;
  return row.title + ", M = " + std::to_string(*row.row.options.kernels_per_upload) + ", " +
         Weights(carried);
}

Figure MakeFigure1(const PaperData& data, const PaperRuns& runs) {
  Figure figure;
  figure.chart = {.title = "Average regret of clients, " + data.recipe->name,
                  .x_label = "step t",
                  .y_label = "regret (14) / t"};
  figure.numbers.header = {"step"};
  for (const PaperRow& row : PaperRows()) {
    if (!Has("table4", row)) continue;
    for (const bool carried : Protocols(row)) {
      const Json& curves = runs.Of(data, row.row, carried)["curves"];
      ChartLine line{.name = SeriesName(row, carried), .dashed = !carried && row.private_weights};
      figure.numbers.rows.resize(std::max(figure.numbers.rows.size(), curves["step"].size()));
      figure.numbers.header.push_back(line.name + ": regret / t");
      figure.numbers.header.push_back(line.name + ": regret");
      for (std::size_t i = 0; i < curves["step"].size(); ++i) {
        const auto step = curves["step"][i].get<double>();
        const auto regret = curves["regret"][i].get<double>();
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

Figure MakeFigure2(const PaperData& data, const PaperRuns& runs) {
  Figure figure;
  figure.chart = {.title = "Regret of POF-MKL against the exploration rate, " + data.recipe->name,
                  .x_label = "exploration rate xi",
                  .y_label = "regret (14) at the end, mean of clients"};
  figure.numbers.header = {"xi"};
  for (const double rate : Explorations()) figure.numbers.rows.push_back({NumberText(rate)});
  for (const std::size_t kernels : kFigure2Kernels) {
    ChartLine line{.name = "POF-MKL, M = " + std::to_string(kernels)};
    figure.numbers.header.push_back(line.name + ": regret");
    figure.numbers.header.push_back(line.name + ": deviation over clients");
    for (std::size_t i = 0; i < Explorations().size(); ++i) {
      const Json& run = runs.Of(data, PaperPofMkl(kernels, Explorations()[i]), false);
      line.x.push_back(Explorations()[i]);
      line.y.push_back(run["regret_mean"].get<double>());
      figure.numbers.rows[i].push_back(NumberText(line.y.back()));
      figure.numbers.rows[i].push_back(NumberText(run["regret_std"].get<double>()));
    }
    figure.chart.lines.push_back(std::move(line));
  }
  return figure;
}

}  // namespace

void WantFor(std::string_view exhibit, const PaperData& data, PaperRuns& runs) {
  if (exhibit == "figure2") {
    for (const std::size_t kernels : kFigure2Kernels) {
      for (const double rate : Explorations()) runs.Want(data, PaperPofMkl(kernels, rate), false);
    }
    return;
  }
  for (const PaperRow& row : PaperRows()) {
    if (!Has(exhibit == "figure1" ? "table4" : exhibit, row)) continue;
    for (const bool carried : Protocols(row)) runs.Want(data, row.row, carried);
  }
}

std::vector<Comparison> Compare(std::string_view table, const PaperData& data,
                                const PaperRuns& runs) {
  std::vector<Comparison> rows;
  for (const PaperRow& row : PaperRows()) {
    if (!Has(table, row)) continue;
    for (const bool carried : Protocols(row)) {
      rows.push_back(CompareRow(table, row, carried, data, runs.Of(data, row.row, carried)));
    }
  }
  return rows;
}

std::string ReadableTable(std::string_view table, const std::vector<Comparison>& rows,
                          bool markdown) {
  std::string text = (markdown ? "## " : "") + Heading(table) + "\n\n";
  if (table == "table4") text += std::string(RegretRemark()) + "\n\n";
  std::vector<std::string> notes;
  for (std::size_t first = 0; first < rows.size();) {
    const std::string& name = rows[first].data->recipe->name;
    TextTable block{.header = Header(table)};
    std::size_t next = first;
    for (; next < rows.size() && rows[next].data->recipe->name == name; ++next) {
      std::string mark = "yes";
      if (!rows[next].reproduced) {
        auto note = std::ranges::find(notes, rows[next].note);
        if (note == notes.end()) note = notes.insert(note, rows[next].note);
        mark = "no (" + std::to_string(note - notes.begin() + 1) + ")";
      }
      block.rows.push_back(CellsOf(rows[next], mark));
    }
    first = next;
    text += (markdown ? "### " : "") + name + "\n\n" +
            (markdown ? MarkdownText(block) : FormatTable(block.header, block.rows)) + "\n";
  }
  for (std::size_t i = 0; i < notes.size(); ++i) {
    text += (markdown ? std::to_string(i + 1) + ". " : "(" + std::to_string(i + 1) + ") ") +
            notes[i] + ".\n";
  }
  return text;
}

TextTable FullTable(const std::vector<Comparison>& rows) {
  TextTable table;
  table.header = {"data",
                  "algorithm",
                  "M",
                  "D",
                  "weights",
                  "published",
                  "published_std",
                  "measured",
                  "measured_std",
                  "deviation",
                  "reproduced",
                  "note"};
  if (!rows.empty() && rows.front().table == "table1") {
    table.header.insert(table.header.end(), {"published_seconds", "seconds"});
  } else if (!rows.empty() && rows.front().table == "table4") {
    table.header.insert(table.header.end(), {"published_steps_x_mse", "steps_x_mse"});
  }
  for (const Comparison& c : rows) {
    const Row& row = c.row->row;
    std::vector<std::string> cells = {
        c.data->recipe->name,
        c.row->title,
        OrDash(UplinkOf(row.algorithm, row.options).kernels),
        OrDash(FeaturesOf(row.algorithm, row.options)),
        Weights(c.carried),
        NumberText(c.published.mean),
        c.published.deviation > 0 ? NumberText(c.published.deviation) : "",
        NumberText(c.measured.mean),
        NumberText(c.measured.deviation),
        NumberText(c.deviation),
        c.reproduced ? "yes" : "no",
        c.note};
    if (table.header.size() > cells.size()) {
      cells.insert(cells.end(), {NumberText(c.published_cost), NumberText(c.cost)});
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

PaperRuns::Json ReproductionJson(const std::vector<Comparison>& rows) {
  Json list = Json::array();
  for (const Comparison& c : rows) {
    const Row& row = c.row->row;
    const std::size_t kernels = UplinkOf(row.algorithm, row.options).kernels;
    const bool spread = c.published.deviation > 0;
    Json entry = {{"table", c.table},
                  {"row", c.row->title},
                  {"kernels_per_upload", kernels > 0 ? Json(kernels) : Json()},
                  {"data", c.data->recipe->name},
                  {"weights", Weights(c.carried)},
                  {"published", c.published.mean},
                  {"published_std", spread ? Json(c.published.deviation) : Json()},
                  {"measured", c.measured.mean},
                  {"measured_std", c.measured.deviation},
                  {"deviation", c.deviation},
                  {"reproduced", c.reproduced},
                  {"note", c.note}};
    if (c.table != "table3") {
      const std::string what = c.table == "table1" ? "seconds" : "steps_x_mse";
      entry["published_" + what] = c.published_cost;
      entry[what] = c.cost;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Figure MakeFigure(std::string_view figure, const PaperData& data, const PaperRuns& runs) {
  return figure == "figure1" ? MakeFigure1(data, runs) : MakeFigure2(data, runs);
}

}  // namespace polykern
