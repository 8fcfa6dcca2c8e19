#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "commands.h"
#include "options.h"
#include "polykern/core/error.h"
#include "polykern/core/version.h"
#include "polykern/results/result.h"
#include "polykern/results/result_file.h"
#include "polykern/sim/paper.h"
#include "report_files.h"
#include "reproduce/reproduce_report.h"
#include "reproduce/reproduce_runs.h"

namespace polykern {
namespace {

/// Everything `polykern reproduce` can be told.
struct ReproduceOptions {
  std::vector<std::string> what;  ///< tables and figures, or all
  std::vector<std::string> data;  ///< empty: all four
  std::string data_dir = "data";
  ExperimentOptions experiment;
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

void Execute(const ReproduceOptions& options, Communicator& ranks) {
  if (ranks.rank() == 0) CheckWritable(options.out);
  const std::vector<PaperData> data = FindPaperData(options.data, options.data_dir);
  PaperRuns runs(options.experiment, options.data_dir, RunStore(options.out + "/runs"),
                 RunStore(options.out + "/partial"), ranks);
  const std::vector<std::string> exhibits = Exhibits(options);
  bool any = false;
  for (const PaperData& one : data) {
    for (const std::string& exhibit : exhibits) {
      if (!Shows(exhibit, one.recipe->name)) continue;
      WantFor(exhibit, one, runs);
      any = true;
    }
  }
  if (!any) throw Error("figure2 does not show uji; name naval, air or wec with --data");
  runs.Run(options.fresh);
  if (ranks.rank() != 0) return;

  const bool markdown = options.format == "markdown";
  std::vector<Comparison> reproduction;
  std::string shown;
  std::string files;
  const auto write = [&](const std::string& name, const std::string& text) {
    WriteResultFile(options.out, name, text, Durable::kNo);
    files += (files.empty() ? "" : " ") + name;
  };
  for (const std::string& exhibit : exhibits) {
    if (exhibit.starts_with("table")) {
      std::vector<Comparison> rows;
      for (const PaperData& one : data) {
        const auto more = Compare(exhibit, one, runs);
        rows.insert(rows.end(), more.begin(), more.end());
      }
      reproduction.insert(reproduction.end(), rows.begin(), rows.end());
      write(exhibit + ".csv", CsvText(FullTable(exhibit, rows)));
      write(exhibit + ".md", ReadableTable(exhibit, rows, true));
      shown += ReadableTable(exhibit, rows, markdown) + "\n";
      continue;
    }
    for (const PaperData& one : data) {
      if (!Shows(exhibit, one.recipe->name)) continue;
      const Figure figure = MakeFigure(exhibit, one, runs);
      write(exhibit + "-" + one.recipe->name + ".csv", CsvText(figure.numbers));
      write(exhibit + "-" + one.recipe->name + ".svg", SvgText(figure.chart));
    }
  }
  PaperRuns::Json result = {{"polykern", Version()}, {"command", options.command}};
  result.update(runs.Result());
  result["reproduction"] = PaperRuns::Json::parse(ReproductionJson(reproduction));
  const std::string json =
      ReadableJson(result.dump(1, ' ', false, PaperRuns::Json::error_handler_t::replace)) + "\n";
  write("result.json", json);
  if (!options.no_report && WriteReport({{options.out, json}}, options.out))
    files += " report.html";
  if (options.format == "json") {
    std::cout << json;
  } else {
    std::cout << shown << "Written to " << options.out << ": " << files << '\n';
  }
}

}  // namespace

void AddReproduceCommand(CLI::App& program, const std::string& typed, Communicator& ranks) {
  auto options = std::make_shared<ReproduceOptions>();
  CLI::App& reproduce = *program.add_subcommand(
      "reproduce",
      "Run the paper's experiments and show its figures beside ours.\n"
      "Interrupted and started again, it goes on where it was.\n"
      "Example: polykern data get naval air && polykern reproduce table1 --data naval,air");
  ReproduceOptions& o = *options;
  std::vector<std::string> names(PaperExhibits().begin(), PaperExhibits().end());
  names.emplace_back("all");
  reproduce.add_option("WHAT", o.what, "table1, table3, table4, figure1, figure2, or all")
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
  reproduce.add_option("-o,--out", o.out, "Folder for tables, figures, results and runs")
      ->capture_default_str()
      ->group("Output");
  reproduce.add_flag("--fresh", o.fresh, "Make every run again, also those that are in the folder")
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
