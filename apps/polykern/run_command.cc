#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "commands.h"
#include "console.h"
#include "options.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/data/source.h"
#include "polykern/results/predictions_file.h"
#include "polykern/results/result.h"
#include "polykern/results/result_file.h"
#include "polykern/results/text_table.h"
#include "polykern/sim/experiment.h"
#include "progress.h"
#include "rank_device.h"
#include "report_files.h"
#include "run_remarks.h"

namespace polykern {
namespace {

/// Everything `polykern run` can be told.
struct RunOptions {
  SourceOptions source;
  ExperimentOptions experiment;
  Sweep sweep;
  std::vector<std::string> algorithms = {"all"};
  std::string out;          ///< folder for the results; empty: none
  std::string predictions;  ///< file for them; empty: none
  bool no_report = false;   ///< result.json alone
  std::string device = "cpu";
  std::string format = "text";
  std::string command;  ///< as typed
};

/// The algorithms that run; "all" are those that suit the loss.
std::vector<std::string> ChosenNames(const RunOptions& options) {
  std::vector<std::string> names = options.algorithms;
  const auto all = std::ranges::find(names, "all");
  if (all == names.end()) return names;
  names.erase(all);
  for (const std::string& name : names) TraitsOf(name);
  names.clear();
  for (const std::string_view name : AlgorithmNames()) {
    const AlgorithmOptions first = options.sweep.Of(name, {}).front();
    if (SuitsLoss(name, first.loss)) names.emplace_back(name);
  }
  return names;
}

/// M where it is not given: the paper's, as far as dictionary and budget reach.
std::vector<std::size_t> UsualUploads(const AlgorithmOptions& options) {
  if (options.features) return {1};
  std::vector<std::size_t> uploads;
  for (const std::size_t m : {1, 25, 51}) {
    if (m <= options.kernels && 2 * m <= options.budget) uploads.push_back(m);
  }
  return uploads.empty() ? std::vector<std::size_t>{1} : uploads;
}

std::vector<Row> MakeRows(const RunOptions& options) {
  AlgorithmOptions base;
  // What time brings changes with time. But far ahead, what forgets fast looks good when labels are
  // learnt, and not when it predicts.
  if (!options.source.time.empty() && options.source.derived.ahead == 1) {
    base.forgetting = kAutoForgetting;
  }
  const std::vector<std::string> names = ChosenNames(options);
  std::vector<Row> rows;
  for (const std::string& name : names) {
    const AlgorithmTraits& traits = TraitsOf(name);
    const bool usual = traits.chooses_kernels && !traits.fills_budget &&
                       !options.sweep.Has(name, "kernels_per_upload");
    for (AlgorithmOptions& made : options.sweep.Of(name, base)) {
      if (!traits.chooses_kernels) made.kernels_per_upload.reset();
      if (!usual) rows.push_back({name, made});
      for (const std::size_t m : usual ? UsualUploads(made) : std::vector<std::size_t>()) {
        made.kernels_per_upload = m;
        rows.push_back({name, made});
      }
    }
  }
  options.sweep.CheckAlgorithms(names);
  return rows;
}

std::string DescribeSource(const Source& source, const RunOptions& options, std::size_t ranks) {
  const Stream& stream = *source.stream;
  std::string text = source.name + ": " + Count(stream.clients(), "client");
  const std::size_t sites = stream.site_names().size();
  if (sites > 1) text += " at " + Count(sites, "site");
  text += ", " + Count(stream.steps(), "step") + ", " + Count(stream.dimension(), "input");
  if (source.rows > 0) text += "; " + Count(source.rows, "row");
  if (source.dropped_rows > 0) {
    text += ", " + std::to_string(source.dropped_rows) + " more with missing cells skipped";
  }
  if (source.clipped_values > 0) {
    text += ", " + Count(source.clipped_values, "value") + " clipped to their range";
  }
  if (!source.order.empty()) text += "\n" + source.order;
  text += "\n" + Count(options.experiment.repetitions, "feature draw") + ", weights " +
          (options.experiment.carry_weights ? "carried" : "reset") + ", seed " +
          std::to_string(options.experiment.seed) + (ranks > 1 ? ", " + Count(ranks, "rank") : "") +
          "\n";
  if (!source.unused_columns.empty()) {
    constexpr std::size_t kMostShown = 8;
    text += "Columns not used:";
    for (std::size_t c = 0; c < std::min(kMostShown, source.unused_columns.size()); ++c) {
      text += (c == 0 ? " " : ", ") + source.unused_columns[c];
    }
    if (source.unused_columns.size() > kMostShown) text += ", ..";
    text += "\n";
  }
  return text;
}

/// A column of the table.
struct RunColumn {
  const char* header;
  std::string (*cell)(const RowResult& r);
  const char* diverged = "-";  // shown of a run that diverged; null: the cell
  bool of_ranks = false;       // only if there are several
};

/// Those of every step, or the mean and the most in one.
std::string NumbersUp(const RowResult& r) {
  const std::string most = std::to_string(r.uplink_numbers);
  const std::string mean = Fixed(r.uplink_numbers_mean, 0);
  return mean == most ? most : mean + " (" + most + ")";
}

constexpr std::size_t kSettings = 3;  // of the columns; options that vary come next
constexpr RunColumn kRunColumns[] = {
    {"algorithm", [](const RowResult& r) { return r.row.algorithm; }, nullptr},
    {"M", [](const RowResult& r) { return OrDash(r.kernels); }, nullptr},
    {"D", [](const RowResult& r) { return OrDash(r.features); }, nullptr},
    {"MSE x 1e-3", [](const RowResult& r) { return PlusMinus(r.mse, 1e3); }, "diverged"},
    {"skill", [](const RowResult& r) { return r.skill() ? Fixed(*r.skill(), 3) : "-"; }},
    {"regret", [](const RowResult& r) { return r.has_regret ? PlusMinus(r.regret) : "-"; }},
    {"bound", [](const RowResult& r) { return r.regret_bound ? Fixed(*r.regret_bound, 1) : "-"; }},
    {"numbers up", NumbersUp},
    {"up", [](const RowResult& r) { return Bytes(r.uplink_bytes); }},
    {"down", [](const RowResult& r) { return Bytes(r.downlink_bytes); }},
    {"us/sample", [](const RowResult& r) { return Fixed(r.microseconds_per_sample(), 2); }},
    {"rank sends", [](const RowResult& r) { return Bytes(r.rank_bytes); }, "-", true},  // in a step
};

std::string ResultTable(const std::vector<RowResult>& results, bool ranks) {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows(results.size());
  const auto add = [&](const std::string& name, const auto& cell) {
    header.push_back(name);
    for (std::size_t i = 0; i < results.size(); ++i) rows[i].push_back(cell(i));
  };
  for (const RunColumn& column : kRunColumns) {
    if (column.of_ranks && !ranks) continue;
    if (&column == std::begin(kRunColumns) + kSettings) {
      for (const VaryingOption& option : VaryingOptions(results)) {
        add(option.label,
            [&](std::size_t i) { return option.values[i].empty() ? "-" : option.values[i]; });
      }
    }
    add(column.header, [&](std::size_t i) -> std::string {
      const bool lost = results[i].divergence && column.diverged != nullptr;
      return lost ? column.diverged : column.cell(results[i]);
    });
  }
  return FormatTable(header, rows);
}

/// What is wrong with a run that diverged; empty if none did.
std::string DescribeDivergence(const std::vector<RowResult>& results) {
  for (const RowResult& r : results) {
    if (!r.divergence) continue;
    return DescribeRow(r, results) + " diverged at step " + std::to_string(r.divergence->step + 1) +
           " of repetition " + std::to_string(r.divergence->repetition + 1) +
           ": lower --learning-rate, or raise --kernels-per-upload or --clients";
  }
  return {};
}

/// Writes the report and the predictions, and prints what was found.
void Present(const RunOptions& options, const Source& source, const std::vector<RowResult>& results,
             const std::string& json, PredictionsFile* predictions, std::size_t ranks) {
  const bool reported =
      !options.out.empty() && !options.no_report && WriteReport({{options.out, json}}, options.out);
  if (predictions != nullptr) predictions->Write(*source.stream, results);
  if (options.format == "json") {
    std::cout << json;
  } else {
    std::cout << DescribeSource(source, options, ranks) << '\n'
              << ResultTable(results, ranks > 1) << '\n'
              << RunRemarks(results, source, options.source);
    if (!options.out.empty()) std::cout << "Written: " << options.out << "/result.json\n";
    if (predictions != nullptr) std::cout << "Written: " << options.predictions << "\n";
    if (reported) std::cout << "Report: " << options.out << "/report.html\n";
  }
  std::cout.flush();
  if (!std::cout) throw Error("standard output cannot be written to; its results are lost");
}

void Execute(const RunOptions& options, Communicator& ranks) {
  const bool speaks = ranks.rank() == 0;
  const bool several = ranks.size() > 1;
  const std::vector<Row> rows = MakeRows(options);
  if (speaks && !options.out.empty()) CheckWritable(options.out);
  CheckExperiment(rows, options.experiment);
  const auto device = OpenRankDevice(options.device, ranks);
  Source source = OpenSource(options.source);
  if (speaks) PrintNotices(source.notices);
  std::unique_ptr<PredictionsFile> predictions;
  if (!options.predictions.empty()) {
    if (several) throw Error("--predictions needs a single process; run it without mpirun");
    predictions = std::make_unique<PredictionsFile>(options.predictions);
  }
  const RunStore partial(options.out + "/partial");
  ExperimentHost host = {.ranks = &ranks,
                         .store = nullptr,
                         .data = {},
                         .keep_predictions = predictions != nullptr,
                         .device = device.get()};
  if (!options.out.empty()) {
    if (speaks) host.data = SampleSettings(source, options.source);
    ranks.Broadcast(host.data);
    if (!host.data.empty()) host.store = &partial;
  }
  const ClientRange own = RankClients(rows, options.experiment, source.stream->clients(), ranks);
  if (auto only = source.stream->Only(own.first, own.count)) source.stream = std::move(only);
  Progress progress;
  std::vector<RowResult> results;
  {
    const ProgressBar bar(progress, source.name, several && speaks);
    results = RunExperiment(*source.stream, rows, options.experiment, progress, host);
  }
  std::string diverged;
  if (speaks) {
    if (progress.kept > 0) {
      std::cerr << "polykern: " << progress.kept << " of "
                << Count(rows.size() * options.experiment.repetitions, "repetition")
                << " already finished; reused\n";
    }
    const std::string json =
        ResultJson(source, options.source, options.experiment, results, options.command);
    if (!options.out.empty()) {
      WriteResultFile(options.out, "result.json", json, Durable::kYes);
      ForgetKept(rows, options.experiment, host);
    }
    Present(options, source, results, json, predictions.get(), ranks.size());
    diverged = DescribeDivergence(results);
  }
  ranks.Broadcast(diverged);  // they fail together: see FailTogether
  if (!diverged.empty()) throw Error(diverged);
}

}  // namespace

void AddRunCommand(CLI::App& program, const std::string& typed, Communicator& ranks) {
  auto options = std::make_shared<RunOptions>();
  CLI::App& run =
      *program.add_subcommand("run",
                              "Simulate a federation and compare algorithms. An algorithm's number "
                              "may be a list, which makes a row for each: --forgetting 0.99,auto; "
                              "NAME=VALUE sets it for one algorithm: -M 25,pof-newton=5.\n"
                              "Example: polykern run --data my.csv --target price "
                              "--client shop --time day --lags 1 --out out");
  AddConfigOption(run);
  AddSourceOptions(run, options->source);
  AddAlgorithmOptions(run, options->sweep);
  run.get_option("--kernels-per-upload")
      ->description(
          "pof-*: M, kernels a client sends per step (default: 1,25,51; pof-newton: by "
          "the budget)");
  run.add_option("-a,--algorithm", options->algorithms, "Algorithms, or all")
      ->delimiter(',')
      ->capture_default_str()
      ->group("Algorithm");
  AddExperimentOptions(run, options->experiment);
  AddDeviceOption(run, options->device);
  run.add_option("-o,--out", options->out,
                 "Folder for result.json and report.html (default: nothing is written)")
      ->group("Output");
  run.add_option(
         "--predictions", options->predictions,
         "CSV file for every prediction of the first feature draw, in the target's own unit")
      ->group("Output");
  run.add_flag("--no-report", options->no_report, "Write no report.html")->group("Output");
  AddFormatOption(run, options->format);
  run.callback([options, &typed, &ranks] {
    options->command = typed;
    options->source.seed = options->experiment.seed;
    Execute(*options, ranks);
  });
}

}  // namespace polykern
