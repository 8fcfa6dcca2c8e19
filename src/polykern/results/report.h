#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace polykern {

/// A result.json, and what a reader calls it: the path it came from.
struct ReportSource {
  std::string name = {};
  std::string json = {};
};

/// Where the results go in a page, with result.json's schema and OptionLabels, by which the page
/// reads them.
inline constexpr std::string_view kReportMark = "@RESULTS@";

/// The page with the results in place of kReportMark, as JSON that cannot end a script element.
/// What a page need not show is left out first: curves are thinned, and of many runs only the first
/// have weights; fields that an older result lacks get their absent values. Throws Error with the
/// result's name and the field if one is damaged, from another version, or no result at all. The
/// page must have the mark.
std::string ReportHtml(std::string_view page, const std::vector<ReportSource>& sources);

}  // namespace polykern
