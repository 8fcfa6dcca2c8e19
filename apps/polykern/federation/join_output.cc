#include "federation/join_output.h"

#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/results/predictions_file.h"

namespace polykern {
namespace {

std::string JsonText(double number) {
  return nlohmann::json(number).dump();
}

/// Null without a path.
std::unique_ptr<OutputFile> OpenToAppend(const std::string& path, const char* option) {
  if (path.empty()) return nullptr;
  return std::make_unique<OutputFile>(path, FileMode::kSecret, option);
}

}  // namespace

void TellOfBroker(const std::string& line) {
  std::cerr << "polykern: " + Printable(line) + "\n" << std::flush;
}

JoinOutput::JoinOutput(const JoinOutputOptions& options, std::string client)
    : intervals_(options.intervals), client_(std::move(client)) {
  if (IsMqtt(options.output)) {
    topic_ = std::make_unique<MqttLink>(ParseMqtt(options.output), "polykern-" + client_ + "-out",
                                        false, TellOfBroker);
  } else {
    output_ = OpenToAppend(options.output, "output");
  }
  predictions_ = OpenToAppend(options.predictions, "predictions");
  std::error_code none;
  if (output_ != nullptr && predictions_ != nullptr &&
      std::filesystem::equivalent(options.output, options.predictions, none)) {
    throw Error(OptionName("output") + " and " + OptionName("predictions") +
                " name the same file; choose another for one of them");
  }
  if (predictions_ != nullptr) predictions_->Begin(PredictionsHeader(intervals_));
}

void JoinOutput::Predicted(const std::string& id, const std::optional<AgentPrediction>& prediction,
                           const Scale& scale) {
  const AgentPrediction made = prediction.value_or(AgentPrediction());
  const auto told = [&](std::optional<double> value) {
    return value ? JsonText(scale.ToldLabel(*value)) : "null";
  };
  const auto value = prediction ? std::optional(made.value) : std::nullopt;
  std::string line = "{\"id\":" + id + ",\"prediction\":" + told(value);
  if (intervals_) {
    const auto& ends = made.interval;
    line += ",\"low\":" + told(ends ? std::optional(ends->low) : std::nullopt) +
            ",\"high\":" + told(ends ? std::optional(ends->high) : std::nullopt);
  }
  line += ",\"step\":" + std::to_string(made.step) + "}";
  if (topic_ != nullptr) return topic_->Publish(line);
  line += '\n';
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
  if (told.interval) {
    line.low = scale.UnscaleLabel(told.interval->low);
    line.high = scale.UnscaleLabel(told.interval->high);
  }
  const std::string text = PredictionText(line, intervals_);
  predictions_->Write(text.data(), text.size());
}

}  // namespace polykern
