#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "commands.h"
#include "options.h"
#include "polykern/core/text.h"
#include "polykern/paper/published_figures.h"
#include "polykern/paper/reproduction.h"
#include "polykern/results/result_file.h"
#include "polykern/results/text_table.h"
#include "progress.h"
#include "rank_device.h"
#include "report_files.h"

namespace polykern {
namespace {

/// Everything `polykern reproduce` can be told.
struct ReproduceOptions {
  std::vector<std::string> what;  ///< tables and figures, or all
  std::vector<std::string> data;  ///< empty: all four
  std::string data_dir = "data";
  ExperimentOptions experiment;
  std::string device = "cpu";
  std::string out = "reproduction";
  bool fresh = false;      ///< take over no finished runs
  bool no_report = false;  ///< write no report.html
  std::string format = "text";
  std::string command;  ///< as typed
};

std::vector<std::string> Exhibits(const ReproduceOptions& options) {
  std::vector<std::string> chosen;
  const auto asked = [&](std::string_view name) {
    return std::ranges::find(options.what, name) != options.what.end();
  };
  for (const std::string_view name : PaperExhibits()) {
    if (asked("all") || asked(name)) chosen.emplace_back(name);
  }
  return chosen;
}

/// Makes what is missing; what was found before is told on standard error.
void MakeRuns(PaperRuns& runs, bool fresh, bool lines) {
  const PaperRuns::Prepared prepared = runs.Prepare(fresh);
  for (const std::string& path : prepared.damaged) {
    std::cerr << "polykern: " << path << " is damaged; this run is repeated\n";
  }
  if (prepared.kept > 0) {
    std::cerr << "polykern: " << prepared.kept << " of " << Count(prepared.wanted, "run")
              << " already finished; reused\n";
  }
  if (prepared.kept == prepared.wanted) return;
  const ProgressBar bar(
      [&] {
        const PaperRuns::State state = runs.Look();
        return WorkState{state.part, state.what};
      },
      lines);
  runs.Run();
}

void Execute(const ReproduceOptions& options, Communicator& ranks) {
  if (ranks.rank() == 0) CheckWritable(options.out);
  const auto device = OpenRankDevice(options.device, ranks);
  const FoundPaperData data = FindPaperData(options.data, options.data_dir);
  if (!data.absent.empty()) {
    const std::string absent = Joined(data.absent, " ");
    std::cerr << "polykern: skipped, files missing: " << absent
              << "; get them with: " << GetCommand(absent, options.data_dir) << '\n';
  }
  PaperRuns runs(options.experiment, options.data_dir, RunStore(options.out + "/runs"),
                 RunStore(options.out + "/partial"), ranks, device.get());
  const std::vector<std::string> exhibits = Exhibits(options);
  WantAll(exhibits, data.found, runs);
  MakeRuns(runs, options.fresh, ranks.size() > 1 && ranks.rank() == 0);
  if (ranks.rank() != 0) return;

  const Reproduction made =
      Reproduce(exhibits, data.found, runs, options.format == "markdown", options.command);
  std::string files;
  for (const auto& [name, text] : made.files) {
    WriteResultFile(options.out, name, text, Durable::kNo);  // the runs are kept beside it
    files += (files.empty() ? "" : " ") + name;
  }
  const std::string& json = made.files.back().text;
  if (!options.no_report && WriteReport({{options.out, json}}, options.out))
    files += " report.html";
  if (options.format == "json") {
    std::cout << json;
  } else {
    std::cout << made.shown << "Written to " << options.out << ": " << files << '\n';
  }
}

}  // namespace

void AddReproduceCommand(CLI::App& program, const std::string& typed, Communicator& ranks) {
  auto options = std::make_shared<ReproduceOptions>();
  CLI::App& reproduce = *program.add_subcommand(
      "reproduce",
      "Run the paper's experiments and show its figures beside ours.\n"
      "Started again after an interruption, it resumes.\n"
      "Example: polykern data get naval air && polykern reproduce table1 --data naval,air");
  ReproduceOptions& o = *options;
  std::vector<std::string> names(PaperExhibits().begin(), PaperExhibits().end());
  names.emplace_back("all");
  reproduce.add_option("WHAT", o.what, "table1, table3, table4, figure1, figure2, beyond, or all")
      ->required()
      ->check(CLI::IsMember(names));
  AddConfigOption(reproduce);
  reproduce.add_option("-d,--data", o.data, "naval, uji, air, wec (default: those that are there)")
      ->delimiter(',')
      ->group("Data");
  AddDataDirOption(reproduce, o.data_dir, "Folder with the data sets").group("Data");
  reproduce.add_option("-r,--repetitions", o.experiment.repetitions, "Feature draws")
      ->check(WholeNumber(1))
      ->capture_default_str()
      ->group("Experiment");
  AddSeedAndThreads(reproduce, o.experiment);
  AddDeviceOption(reproduce, o.device);
  reproduce.add_option("-o,--out", o.out, "Folder for tables, figures, results and runs")
      ->capture_default_str()
      ->group("Output");
  reproduce.add_flag("--fresh", o.fresh, "Repeat every run, even those that are in the folder")
      ->group("Output");
  reproduce.add_flag("--no-report", o.no_report, "Write no report.html")->group("Output");
  reproduce.add_option("--format", o.format, "text, json or markdown, on standard output")
      ->check(CLI::IsMember({"text", "json", "markdown"}))
      ->capture_default_str()
      ->group("Output");
  reproduce.callback([options, &typed, &ranks] {
    options->command = typed;
    Execute(*options, ranks);
  });
}

}  // namespace polykern
