#include "reproduce/reproduce_report.h"

#include <algorithm>
#include <cmath>
#include <span>

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
  c.title = row.title;
  c.kernels = UplinkOf(row.row.algorithm, row.row.options).kernels;
  c.features = FeaturesOf(row.row.algorithm, row.row.options);
  c.private_weights = row.private_weights;
  c.data = data.recipe->name;
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

const char* Weights(bool carried) {
  return carried ? "carried" : "reset";
}

/// A column of some tables.
struct PaperColumn {
  const char* header;
  std::string (*cell)(const Comparison& c);
  std::string_view tables = "table1 table3 table4";
};

/// For readers; whether it is reproduced comes last, with its note.
constexpr PaperColumn kReadable[] = {
    {"algorithm", [](const Comparison& c) { return c.title; }},
    {"M", [](const Comparison& c) { return OrDash(c.kernels); }},
    {"D", [](const Comparison& c) { return OrDash(c.features); }},
    {"weights",
     [](const Comparison& c) { return std::string(c.private_weights ? Weights(c.carried) : "-"); }},
    {"MSE x 1e-3 published", [](const Comparison& c) { return Fixed(c.published.mean, 2); },
     "table1"},
    {"MSE x 1e-3 published", [](const Comparison& c) { return PlusMinus(c.published); }, "table3"},
    {"regret published", [](const Comparison& c) { return PlusMinus(c.published); }, "table4"},
    {"measured", [](const Comparison& c) { return PlusMinus(c.measured); }, "table1 table3"},
    {"measured (14)", [](const Comparison& c) { return PlusMinus(c.measured); }, "table4"},
    {"deviation",
     [](const Comparison& c) {
       return (c.deviation > 0 ? "+" : "") + Fixed(100 * c.deviation, 1) + " %";
     }},
    {"seconds published", [](const Comparison& c) { return Fixed(c.published_cost, 2); }, "table1"},
    {"measured", [](const Comparison& c) { return Fixed(c.cost, 5); }, "table1"},
    {"T x MSE published", [](const Comparison& c) { return Fixed(c.published_cost, 2); }, "table4"},
    {"measured", [](const Comparison& c) { return Fixed(c.cost, 2); }, "table4"},
};

/// For programs.
constexpr PaperColumn kFull[] = {
    {"data", [](const Comparison& c) { return c.data; }},
    {"algorithm", [](const Comparison& c) { return c.title; }},
    {"M", [](const Comparison& c) { return OrDash(c.kernels); }},
    {"D", [](const Comparison& c) { return OrDash(c.features); }},
    {"weights", [](const Comparison& c) { return std::string(Weights(c.carried)); }},
    {"published", [](const Comparison& c) { return NumberText(c.published.mean); }},
    {"published_std",
     [](const Comparison& c) {
       return c.published.deviation > 0 ? NumberText(c.published.deviation) : "";
     }},
    {"measured", [](const Comparison& c) { return NumberText(c.measured.mean); }},
    {"measured_std", [](const Comparison& c) { return NumberText(c.measured.deviation); }},
    {"deviation", [](const Comparison& c) { return NumberText(c.deviation); }},
    {"reproduced", [](const Comparison& c) { return std::string(c.reproduced ? "yes" : "no"); }},
    {"note", [](const Comparison& c) { return c.note; }},
    {"published_seconds", [](const Comparison& c) { return NumberText(c.published_cost); },
     "table1"},
    {"seconds", [](const Comparison& c) { return NumberText(c.cost); }, "table1"},
    {"published_steps_x_mse", [](const Comparison& c) { return NumberText(c.published_cost); },
     "table4"},
    {"steps_x_mse", [](const Comparison& c) { return NumberText(c.cost); }, "table4"},
};

TextTable MakeTable(std::span<const PaperColumn> columns, std::string_view table,
                    std::span<const Comparison> rows) {
  TextTable made;
  made.rows.resize(rows.size());
  for (const PaperColumn& column : columns) {
    if (column.tables.find(table) == std::string_view::npos) continue;
    made.header.emplace_back(column.header);
    for (std::size_t i = 0; i < rows.size(); ++i) made.rows[i].push_back(column.cell(rows[i]));
  }
  return made;
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
    const std::string& name = rows[first].data;
    std::size_t next = first;
    while (next < rows.size() && rows[next].data == name) ++next;
    const auto section = std::span(rows).subspan(first, next - first);
    TextTable block = MakeTable(kReadable, table, section);
    block.header.emplace_back("reproduced");
    for (std::size_t i = 0; i < section.size(); ++i) {
      std::string mark = "yes";
      if (!section[i].reproduced) {
        auto note = std::ranges::find(notes, section[i].note);
        if (note == notes.end()) note = notes.insert(note, section[i].note);
        mark = "no (" + std::to_string(note - notes.begin() + 1) + ")";
      }
      block.rows[i].push_back(std::move(mark));
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

TextTable FullTable(std::string_view table, const std::vector<Comparison>& rows) {
  return MakeTable(kFull, table, rows);
}

Figure MakeFigure(std::string_view figure, const PaperData& data, const PaperRuns& runs) {
  return figure == "figure1" ? MakeFigure1(data, runs) : MakeFigure2(data, runs);
}

}  // namespace polykern
