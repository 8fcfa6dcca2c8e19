#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "polykern/data/stream.h"
#include "polykern/io/output_file.h"
#include "polykern/results/row.h"

namespace polykern {

/// A line of a CSV of predictions, in the target's own unit. A plain value.
struct PredictionLine {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  std::string time = {};
  std::string client = {};
  double label = kNone;
  double prediction = kNone;
  double low = kNone;  ///< of its interval
  double high = kNone;
};

/// The line of names, and a line: labels to nine digits, without the noise of scaling to and fro,
/// the other numbers with every bit. With their ends.
std::string PredictionsHeader(bool intervals);
std::string PredictionText(const PredictionLine& line, bool intervals);

/// A CSV of predictions: `time,client,label,prediction` and, of runs with intervals, `low,high`, in
/// the target's own unit; of several rows the algorithm, its kernels per upload and the options
/// that vary come first. A line for each prediction: row by row, step by step, client by client.
/// Use it from one thread.
class PredictionsFile {
 public:
  /// To be made before a long run: throws Error if the file cannot be written to.
  explicit PredictionsFile(const std::string& path);
  ~PredictionsFile();
  PredictionsFile(const PredictionsFile&) = delete;
  PredictionsFile& operator=(const PredictionsFile&) = delete;

  /// Of rows that kept their predictions on the stream. The file has its name when all of it is on
  /// the disk; before, and if this throws, there is the old one or none.
  void Write(const Stream& stream, const std::vector<RowResult>& rows);

 private:
  void WriteRow(const Stream& stream, const RowResult& row, const std::string& name,
                bool intervals);

  std::string path_;
  std::string part_;
  std::unique_ptr<OutputFile> file_;
};

}  // namespace polykern
