#include "federation/join_output.h"

#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "polykern/core/error.h"
#include "polykern/results/predictions_file.h"

namespace polykern {
namespace {

std::string JsonText(std::optional<double> number) {
  return number ? nlohmann::json(*number).dump() : "null";
}

/// Null without a path.
std::unique_ptr<OutputFile> OpenToAppend(const std::string& path, const char* option) {
  if (path.empty()) return nullptr;
  return std::make_unique<OutputFile>(path, FileMode::kSecret, option);
}

/// The end of an interval on either side; none without a radius.
std::optional<double> EndOf(double value, std::optional<double> radius, int side,
                            const Scale& scale) {
  if (!radius) return {};
  return scale.UnscaleLabel(value + side * *radius);
}

}  // namespace

JoinOutput::JoinOutput(const JoinOutputOptions& options, std::string client)
    : intervals_(options.intervals), client_(std::move(client)) {
  output_ = OpenToAppend(options.output, "output");
  predictions_ = OpenToAppend(options.predictions, "predictions");
  std::error_code none;
  if (output_ != nullptr && predictions_ != nullptr &&
      std::filesystem::equivalent(options.output, options.predictions, none)) {
    throw Error("--output and --predictions name the same file; choose another for one of them");
  }
  if (predictions_ == nullptr || predictions_->size() > 0) return;
  const std::string header = PredictionsHeader(intervals_);
  predictions_->Write(header.data(), header.size());
}

void JoinOutput::Predicted(const std::string& id, const std::optional<AgentPrediction>& prediction,
                           const Scale& scale) {
  const AgentPrediction made = prediction.value_or(AgentPrediction());
  const auto value = prediction ? std::optional(scale.UnscaleLabel(made.value)) : std::nullopt;
  std::string line = "{\"id\":" + id + ",\"prediction\":" + JsonText(value);
  if (intervals_) {
    line += ",\"low\":" + JsonText(EndOf(made.value, made.radius, -1, scale)) +
            ",\"high\":" + JsonText(EndOf(made.value, made.radius, 1, scale));
  }
  line += ",\"step\":" + std::to_string(made.step) + "}\n";
  if (output_ != nullptr) return output_->Write(line.data(), line.size());
  std::cout << line << std::flush;
  if (!std::cout) throw Error("standard output cannot be written to");
}

void JoinOutput::Labelled(const ToldPrediction& told, double y, const Scale& scale) {
  if (predictions_ == nullptr) return;
  PredictionLine line{.time = told.time,
                      .client = client_,
                      .label = scale.UnscaleLabel(y),
                      .prediction = scale.UnscaleLabel(told.value)};
  line.low = EndOf(told.value, told.radius, -1, scale).value_or(PredictionLine::kNone);
  line.high = EndOf(told.value, told.radius, 1, scale).value_or(PredictionLine::kNone);
  const std::string text = PredictionText(line, intervals_);
  predictions_->Write(text.data(), text.size());
}

}  // namespace polykern
