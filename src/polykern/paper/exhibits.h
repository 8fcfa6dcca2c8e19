#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "polykern/paper/line_chart.h"
#include "polykern/paper/paper_run.h"
#include "polykern/results/comparison.h"
#include "polykern/results/text_table.h"

namespace polykern {

// The paper's tables and figures from our runs: pure functions. `data` is the name of a data set
// that the paper has.

/// The runs that an exhibit (PaperExhibits) shows of a data set.
std::vector<WantedRun> RunsOf(std::string_view exhibit);

/// A table's rows for a data set, in the paper's order. table: table1, table3 or table4.
std::vector<Comparison> Compare(std::string_view table, const std::string& data,
                                const FindRun& find);

/// A figure of one data set: what is drawn, and its numbers.
struct Figure {
  LineChart chart = {};
  TextTable numbers = {};
};
Figure MakeFigure(std::string_view figure, const std::string& data, const FindRun& find);

}  // namespace polykern
