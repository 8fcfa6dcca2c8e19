#include "polykern/paper/beyond.h"

#include <algorithm>

#include "polykern/algorithms/registry.h"

namespace polykern {
namespace {

Row With(const char* algorithm) {
  Row row;
  row.algorithm = algorithm;
  return row;
}

/// M = 25 of 1000 numbers: near its best on every data set.
Row PofAdagrad() {
  Row row = With("pof-adagrad");
  row.options.kernels_per_upload = 25;
  row.options.features = 20;
  return row;
}

/// What its server cannot do without.
std::string Needs(const std::string& algorithm) {
  const AlgorithmTraits& traits = TraitsOf(algorithm);
  if (algorithm == "local-rls") return "nothing";
  return traits.needs_single_messages ? "every message" : "sums";
}

std::string Measured(const PaperRun& run) {
  return PlusMinus(run.mse, 1e3) + (run.diverged ? " (diverged)" : "");
}

}  // namespace

std::vector<WantedRun> BeyondWanted() {
  std::vector<WantedRun> wanted;
  for (const Row& row :
       {With("local-rls"), With("fed-poe"), PofAdagrad(), With("pof-newton"), With("pof-gram")}) {
    wanted.push_back({row, false});
  }
  return wanted;
}

std::vector<BeyondRun> BeyondRuns(const std::string& data, const FindRun& find) {
  std::vector<BeyondRun> runs;
  for (const auto& [row, carried] : BeyondWanted()) {
    runs.push_back({row.algorithm, data, find(row, carried)});
  }
  return runs;
}

std::string ReadableBeyond(std::span<const BeyondRun> runs, bool markdown) {
  TextTable table{.header = {"MSE x 1e-3", "the server needs"}};
  for (const BeyondRun& run : runs) {
    if (std::ranges::find(table.header, run.data) == table.header.end()) {
      table.header.push_back(run.data);
    }
    auto row = std::ranges::find_if(table.rows,
                                    [&](const auto& cells) { return cells[0] == run.algorithm; });
    if (row == table.rows.end()) {
      row = table.rows.insert(row, {run.algorithm, Needs(run.algorithm)});
    }
    row->push_back(Measured(run.run));
  }
  return std::string(markdown ? "## " : "") + "Beyond the paper\n\n" +
         (markdown ? MarkdownText(table) : FormatTable(table.header, table.rows));
}

TextTable FullBeyond(std::span<const BeyondRun> runs) {
  TextTable table{
      .header = {"data", "algorithm", "mse", "mse_std", "repetitions", "diverged", "seconds"}};
  for (const auto& [algorithm, data, run] : runs) {
    table.rows.push_back(
        {data, algorithm, NumberText(run.mse.mean), NumberText(run.mse.deviation),
         std::to_string(run.repetitions), run.diverged ? "yes" : "no",
         NumberText(1e-6 * run.microseconds_per_sample * static_cast<double>(run.steps))});
  }
  return table;
}

}  // namespace polykern
