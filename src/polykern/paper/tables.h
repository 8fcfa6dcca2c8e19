#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "polykern/results/comparison.h"
#include "polykern/results/text_table.h"

namespace polykern {

// The paper's tables with ours beside them: pure functions. table: table1, table3 or table4.

/// A table for readers, with a section for each data set; as text or Markdown.
std::string ReadableTable(std::string_view table, const std::vector<Comparison>& rows,
                          bool markdown);

/// A table for programs, every number in full.
TextTable FullTable(std::string_view table, const std::vector<Comparison>& rows);

}  // namespace polykern
