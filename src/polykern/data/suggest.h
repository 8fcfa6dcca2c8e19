#pragma once

#include <string>

#include "polykern/data/scan.h"
#include "polykern/data/source.h"

namespace polykern {

/// Options with which these files can be learnt from, as a person would choose them:
///
/// - the target: `target`, or a column called y, target, label, output or TARGETVAR, or like power
///   or demand, or the last one of numbers;
/// - the client: `site`, or a column that is called like a place or an id and has few values, each
///   in many rows. Of several files each is a client, unless such a column has more values;
/// - the time: a column of dates, or columns of year, month and day;
/// - other columns of few texts as inputs, useless columns left out, and the ranges.
///
/// Throws Error if no column can be the target, or a named one does not exist.
SourceOptions SuggestOptions(const Scan& scan, const std::string& target, const std::string& site);

/// Opens the files and adds what the order of time tells: lags where labels are alike from row to
/// row (and from day to day), and the calendar of dates. Takes back a column of times in which
/// clients have many rows at once. Throws Error as OpenSource does.
void SuggestFromTimes(SourceOptions& options);

}  // namespace polykern
