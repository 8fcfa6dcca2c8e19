#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "polykern/sim/line_chart.h"
#include "polykern/sim/paper.h"
#include "polykern/sim/text_table.h"
#include "reproduce_runs.h"

namespace polykern {

/// Asks for the runs that a table or figure shows of a data set.
void WantFor(std::string_view exhibit, const PaperData& data, PaperRuns& runs);

/// A published figure beside ours.
struct Comparison {
  std::string table = {};
  const PaperRow* row = nullptr;
  const PaperData* data = nullptr;
  bool carried = false;
  bool diverged = false;      ///< ours is of what was finished before
  Spread published = {};      ///< MSE x 1e-3 or regret
  Spread measured = {};       ///< over the feature draws or, regret, over the clients
  double deviation = 0;       ///< (ours - published) / published
  bool reproduced = false;    ///< within kPaperTolerance; a regret with its error
  std::string note = {};      ///< if not, why
  double published_cost = 0;  ///< Table 1: seconds of a client; Table 4: T x MSE
  double cost = 0;            ///< ours
};

/// A table's rows for a data set, in the paper's order. table: table1, table3 or table4.
std::vector<Comparison> Compare(std::string_view table, const PaperData& data,
                                const PaperRuns& runs);

/// A table for readers, with a section for each data set; as text or Markdown.
std::string ReadableTable(std::string_view table, const std::vector<Comparison>& rows,
                          bool markdown);

/// A table for programs, every number in full.
TextTable FullTable(const std::vector<Comparison>& rows);

/// "reproduction" of result.json.
PaperRuns::Json ReproductionJson(const std::vector<Comparison>& rows);

/// A figure of one data set: what is drawn, and its numbers.
struct Figure {
  LineChart chart = {};
  TextTable numbers = {};
};
Figure MakeFigure(std::string_view figure, const PaperData& data, const PaperRuns& runs);

}  // namespace polykern
