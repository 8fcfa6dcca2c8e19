#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "polykern/sim/report.h"

namespace polykern {

/// The report without results, made from web/ when the program was built; empty if node and npm
/// were not there then.
std::string_view ReportPage();

/// What to do about an empty page, in one line.
inline constexpr std::string_view kNoPage =
    "no report.html, because this program was built without node and npm; install both "
    "(scripts/setup does), build again, and use polykern report";

/// Writes folder/name, a report of these results. Without a page it says kNoPage on standard
/// error and returns false. Throws Error if a result or the folder is not right.
bool WriteReport(const std::vector<ReportSource>& results, const std::string& folder,
                 const std::string& name = "report.html");

}  // namespace polykern
