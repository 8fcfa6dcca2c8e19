#include "polykern/net/rounds/front.h"

#include <algorithm>

#include "polykern/net/rounds/rounds_options.h"

namespace polykern {

/// Clients of a front end that has not heard of the step yet are waited for.
std::uint64_t NeededOf(const FrontsStatus& all, const RoundsOptions& options, bool overdue) {
  const std::uint64_t named = options.roster.size();
  const std::uint64_t expected =
      named == 0 ? all.expected : named - std::min(named, all.gone_unanswered);
  std::uint64_t there = all.answered;
  for (const FrontStatus& each : all.fronts) {
    const FrontReport& report = each.report;
    if (overdue) break;
    there += report.step == all.step ? report.waiting + report.held : report.connected;
  }
  return options.Needed(there, expected);
}

}  // namespace polykern
