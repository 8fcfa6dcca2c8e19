#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "polykern/sim/report.h"

namespace polykern {

/// The report without results, made from web/ when the program was built; empty if node and npm
/// were not there then.
std::string_view ReportPage();

/// Writes folder/name, a report of these results. Without a page it says on standard error, in one
/// line, how to get one, and returns false. Throws Error if a result or the folder is not right.
bool WriteReport(const std::vector<ReportSource>& results, const std::string& folder,
                 const std::string& name = "report.html");

}  // namespace polykern
