#include "report_files.h"

#include <iostream>

#include "polykern/sim/result.h"

namespace polykern {

bool WriteReport(const std::vector<ReportSource>& results, const std::string& folder,
                 const std::string& name) {
  if (ReportPage().empty()) {
    std::cerr << "polykern: " << kNoPage << '\n';
    return false;
  }
  WriteFileAtomically(folder, name, ReportHtml(ReportPage(), results));
  return true;
}

}  // namespace polykern
