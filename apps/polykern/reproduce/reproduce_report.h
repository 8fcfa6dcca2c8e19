#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "polykern/results/comparison.h"
#include "polykern/results/text_table.h"
#include "polykern/sim/line_chart.h"
#include "polykern/sim/paper.h"
#include "reproduce/reproduce_runs.h"

namespace polykern {

/// Asks for the runs that a table or figure shows of a data set.
void WantFor(std::string_view exhibit, const PaperData& data, PaperRuns& runs);

/// A table's rows for a data set, in the paper's order. table: table1, table3 or table4.
std::vector<Comparison> Compare(std::string_view table, const PaperData& data,
                                const PaperRuns& runs);

/// A table for readers, with a section for each data set; as text or Markdown.
std::string ReadableTable(std::string_view table, const std::vector<Comparison>& rows,
                          bool markdown);

/// A table for programs, every number in full.
TextTable FullTable(std::string_view table, const std::vector<Comparison>& rows);

/// A figure of one data set: what is drawn, and its numbers.
struct Figure {
  LineChart chart = {};
  TextTable numbers = {};
};
Figure MakeFigure(std::string_view figure, const PaperData& data, const PaperRuns& runs);

}  // namespace polykern
