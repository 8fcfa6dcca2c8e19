#include "polykern/results/predictions_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "polykern/results/result.h"
#include "polykern/results/text_table.h"

namespace polykern {
namespace {

/// Enough for any label, and without the noise of scaling to and fro; nothing for what is not a
/// label.
std::string NineDigits(double value) {
  if (!std::isfinite(value)) return "";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.9g", value);
  return text.data();
}

/// What tells rows apart, as cells that come first: their names, and then those of each row. Empty
/// if there is but one.
std::vector<std::string> NamesOf(const std::vector<RowResult>& rows) {
  std::vector<std::string> names(rows.size() + 1);
  if (rows.size() < 2) return names;
  const auto add = [&](const std::string& header, const auto& cell) {
    names[0] += header + ',';
    for (std::size_t i = 0; i < rows.size(); ++i) names[i + 1] += cell(i) + ',';
  };
  const auto count = [](std::size_t number) { return number > 0 ? std::to_string(number) : ""; };
  add("algorithm", [&](std::size_t i) { return rows[i].row.algorithm; });
  add("kernels_per_upload", [&](std::size_t i) { return count(rows[i].kernels); });
  if (std::ranges::any_of(rows, [&](const RowResult& row) {
        return row.row.options.features != rows.front().row.options.features;
      })) {
    add("features", [&](std::size_t i) { return count(rows[i].features); });
  }
  for (const VaryingOption& option : VaryingOptions(rows)) {
    add(option.key, [&](std::size_t i) { return CsvCell(option.values[i]); });
  }
  return names;
}

}  // namespace

std::string PredictionsHeader(bool intervals) {
  return std::string("time,client,label,prediction") + (intervals ? ",low,high" : "") + "\n";
}

std::string PredictionText(const PredictionLine& line, bool intervals) {
  std::string text = CsvCell(line.time) + ',' + CsvCell(line.client) + ',' +
                     NineDigits(line.label) + ',' + NumberText(line.prediction);
  if (intervals) text += ',' + NumberText(line.low) + ',' + NumberText(line.high);
  return text + '\n';
}

PredictionsFile::PredictionsFile(const std::string& path)
    : path_(path),
      part_(path + ".part"),
      file_(std::make_unique<OutputFile>(part_, FileMode::kUmask, "predictions")) {
  file_->Clear();
}

PredictionsFile::~PredictionsFile() {
  if (file_ == nullptr) return;  // it has its name
  file_.reset();
  std::error_code ignored;
  std::filesystem::remove(part_, ignored);
}

void PredictionsFile::Write(const Stream& stream, const std::vector<RowResult>& rows) {
  const bool intervals =
      std::ranges::any_of(rows, [](const RowResult& row) { return !row.ends.empty(); });
  const std::vector<std::string> names = NamesOf(rows);
  const std::string header = names.front() + PredictionsHeader(intervals);
  file_->Write(header.data(), header.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    WriteRow(stream, rows[i], names[i + 1], intervals);
  }
  file_->Sync();
  file_.reset();
  MoveIntoPlace(part_, path_);
}

void PredictionsFile::WriteRow(const Stream& stream, const RowResult& row, const std::string& name,
                               bool intervals) {
  const Loss loss = row.row.options.MakeLoss();
  const std::size_t clients = stream.clients();
  SampleBlock block;
  for (std::size_t step = 0; (step + 1) * clients <= row.predictions.size(); ++step) {
    stream.Read(step, 0, clients, block);
    std::string text;
    for (std::size_t k = 0; k < clients; ++k) {
      const double f = row.predictions[step * clients + k];
      if (std::isnan(f)) continue;  // it did not take part
      const double predicted = loss.Predicted(f);
      const auto end = [&](std::size_t side) {
        return row.ends.empty() ? std::nan("") : row.ends[2 * (step * clients + k) + side];
      };
      text += name + PredictionText({.time = stream.TimeOf(step),
                                     .client = stream.ClientName(k),
                                     .label = stream.InOwnUnit(block.y[k]),
                                     .prediction = stream.InOwnUnit(predicted),
                                     .low = stream.InOwnUnit(end(0)),
                                     .high = stream.InOwnUnit(end(1))},
                                    intervals);
    }
    file_->Write(text.data(), text.size());
  }
}

}  // namespace polykern
