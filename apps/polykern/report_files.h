#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "polykern/results/report.h"

namespace polykern {

/// The report without results, made from web/ when the program was built; empty if it could not be.
std::string_view ReportPage();

/// The files of a page that shows a running federation, made likewise; empty if they could not be.
struct LivePage {
  std::string_view html = {};
  std::string_view script = {};
  std::string_view style = {};
};
LivePage FederationPage();

/// Why it could not be, and what to do about it: web/packages.cmake. Empty if there is a page.
std::string_view WhyNoPage();

/// What to do about an empty page, in one line.
std::string NoPage();

/// Writes folder/name, a report of these results. Without a page it says NoPage() on standard
/// error and returns false. Throws Error if a result or the folder is not right.
bool WriteReport(const std::vector<ReportSource>& results, const std::string& folder,
                 const std::string& name = "report.html");

}  // namespace polykern
