#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "commands.h"
#include "options.h"
#include "polykern/core/error.h"
#include "report_files.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;

/// Everything `polykern report` can be told.
struct ReportOptions {
  std::vector<std::string> results;  ///< folders with a result.json, or such files
  std::string out;                   ///< empty: in the folder, or here if there are several
};

ReportSource Read(const std::string& name) {
  const fs::path path = fs::is_directory(name) ? fs::path(name) / "result.json" : fs::path(name);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) {
    throw Error("cannot read '" + path.string() + "': " + std::strerror(errno) +
                "; polykern run --out writes such a file");
  }
  return {path.string(), text};
}

void Execute(const ReportOptions& options) {
  if (ReportPage().empty()) throw Error(NoPage());
  std::vector<ReportSource> results;
  for (const std::string& name : options.results) results.push_back(Read(name));
  fs::path out = options.out;
  if (out.empty()) {
    out = (results.size() == 1 ? fs::path(results[0].name).parent_path() : fs::path()) /
          "report.html";
  }
  const std::string folder = out.has_parent_path() ? out.parent_path().string() : ".";
  WriteReport(results, folder, out.filename().string());
  std::cout << "Written: " << out.string() << '\n';
}

}  // namespace

void AddReportCommand(CLI::App& program) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App& report = *program.add_subcommand(
      "report",
      "Make the page report.html from result files; several are shown side by side.\n"
      "Example: polykern report out-a out-b --out both.html");
  AddConfigOption(report);
  report.add_option("DIR", options->results, "Folders with a result.json, or such files")
      ->required();
  report.add_option("-o,--out", options->out,
                    "File to write (default: report.html in DIR; here for several)");
  report.callback([options] { Execute(*options); });
}

}  // namespace polykern
