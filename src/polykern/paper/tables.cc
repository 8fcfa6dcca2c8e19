#include "polykern/paper/tables.h"

#include <algorithm>
#include <span>

#include "polykern/paper/published_figures.h"

namespace polykern {
namespace {

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

}  // namespace

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

}  // namespace polykern
