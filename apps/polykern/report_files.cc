#include "report_files.h"

#include <iostream>

#include "polykern/results/result_file.h"

namespace polykern {

std::string NoPage() {
  return "no report.html, because when this program was built " + std::string(WhyNoPage()) +
         ", build again (scripts/run does), and use polykern report";
}

bool WriteReport(const std::vector<ReportSource>& results, const std::string& folder,
                 const std::string& name) {
  if (ReportPage().empty()) {
    std::cerr << "polykern: " << NoPage() << '\n';
    return false;
  }
  WriteResultFile(folder, name, ReportHtml(ReportPage(), results), Durable::kNo);
  return true;
}

}  // namespace polykern
