#pragma once

#include <string>
#include <vector>

#include "polykern/data/source.h"
#include "polykern/results/row.h"

namespace polykern {

/// The algorithm of one of the rows, and what tells it from the others.
std::string DescribeRow(const RowResult& row, const std::vector<RowResult>& all);

/// What a reader should take from the table of a run, a line each: naive errors, whether they are
/// beaten, and what to try if not; the best row, with its error in the labels' own unit; the bound
/// on the regret; how intervals fared.
std::string RunRemarks(const std::vector<RowResult>& results, const Source& source,
                       const SourceOptions& options);

}  // namespace polykern
