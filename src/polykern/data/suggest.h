#pragma once

#include <string>

#include "polykern/data/scan.h"
#include "polykern/data/source.h"

namespace polykern {

/// Options with which these files can be learnt from, as a person would choose them:
///
/// - the target: a column called y, target, label, output or TARGETVAR, or like power
///   or demand, or the last one of numbers;
/// - the client: a column that is called like a place or an id and has few values, each
///   in many rows. Of several files each is a client, unless such a column has more values;
/// - the time: a column of dates, or columns of year, month and day;
/// - other columns of few texts as inputs, useless columns left out, and the ranges.
///
/// What `known` says is kept, and the rest fits it: target, site, client, time, inputs, lags,
/// calendar, ranges, columns of texts and those that are not inputs. kNoColumn for client or time
/// says that there is none. Throws Error if no column can be the target, a named one does not
/// exist, or one is named for two roles.
SourceOptions SuggestOptions(const Scan& scan, const SourceOptions& known = {});
inline constexpr const char* kNoColumn = "none";

/// Opens the files and adds what the order of time tells: lags where labels are alike from row to
/// row (and from day to day), and the calendar of dates, unless they are there. Takes back a column
/// of times in which clients have many rows at once, if it is a guess (not in `known`). Throws
/// Error as OpenSource does.
void SuggestFromTimes(SourceOptions& options, const SourceOptions& known = {});

}  // namespace polykern
