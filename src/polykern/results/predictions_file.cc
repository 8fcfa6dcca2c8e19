#include "polykern/results/predictions_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "polykern/results/text_table.h"

namespace polykern {
namespace {

/// Enough for any label, and without the noise of scaling to and fro; nothing for what is none.
std::string NineDigits(double value) {
  if (!std::isfinite(value)) return "";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.9g", value);
  return text.data();
}

}  // namespace

PredictionsFile::PredictionsFile(const std::string& path)
    : path_(path), part_(path + ".part"), file_(std::make_unique<OutputFile>(part_)) {
  file_->Clear();
}

PredictionsFile::~PredictionsFile() {
  if (file_ == nullptr) return;  // it has its name
  file_.reset();
  std::error_code ignored;
  std::filesystem::remove(part_, ignored);
}

void PredictionsFile::Write(const Stream& stream, const std::vector<RowResult>& rows) {
  const bool several = rows.size() > 1;
  const bool intervals =
      std::ranges::any_of(rows, [](const RowResult& row) { return !row.radii.empty(); });
  const std::string header = std::string(several ? "algorithm,kernels_per_upload," : "") +
                             "time,client,label,prediction" + (intervals ? ",low,high" : "") + "\n";
  file_->Write(header.data(), header.size());
  for (const RowResult& row : rows) WriteRow(stream, row, several, intervals);
  file_->Sync();
  file_.reset();
  MoveIntoPlace(part_, path_);
}

void PredictionsFile::WriteRow(const Stream& stream, const RowResult& row, bool several,
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
      if (several) {
        text += row.row.algorithm + ',';
        text += (row.kernels > 0 ? std::to_string(row.kernels) : "") + ',';
      }
      text += CsvCell(stream.TimeOf(step)) + ',' + CsvCell(stream.ClientName(k));
      for (const double number : {block.y[k], predicted}) {
        text += ',' + NineDigits(stream.InOwnUnit(number));
      }
      if (intervals) {
        const double radius = row.radii.empty() ? std::nan("") : row.radii[step * clients + k];
        for (const double number : {predicted - radius, predicted + radius}) {
          text += ',' + NineDigits(stream.InOwnUnit(number));
        }
      }
      text += '\n';
    }
    file_->Write(text.data(), text.size());
  }
}

}  // namespace polykern
