#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "polykern/data/mqtt/mqtt_link.h"
#include "polykern/data/samples/waiting_samples.h"
#include "polykern/data/scaling.h"
#include "polykern/io/output_file.h"
#include "polykern/net/agent/agent.h"

namespace polykern {

/// Where an agent's predictions go.
struct JoinOutputOptions {
  std::string output = {};       ///< file for JSON lines, or a topic; empty: standard output
  std::string predictions = {};  ///< file for a CSV of those whose labels came; empty: none
  bool intervals = false;
};

/// A line on standard error.
void TellOfBroker(const std::string& line);

/// What an agent says of its samples: a JSON line for each prediction, which is within the target
/// range, and a line of CSV when its label is known (results/predictions_file), as it was learnt
/// with: not clipped. Files are appended to, so that a restart loses
/// nothing, and are their owner's alone; a topic's broker has a line before a call returns. Throws
/// Error. Use it from one thread.
class JoinOutput {
 public:
  /// `client` is what this agent is called in the CSV file.
  JoinOutput(const JoinOutputOptions& options, std::string client);

  /// None: there is no model yet.
  void Predicted(const std::string& id, const std::optional<AgentPrediction>& prediction,
                 const Scale& scale);
  /// The label of what was told, scaled.
  void Labelled(const ToldPrediction& told, double y, const Scale& scale);

 private:
  const bool intervals_;
  const std::string client_;
  std::unique_ptr<OutputFile> output_;
  std::unique_ptr<OutputFile> predictions_;
  std::unique_ptr<MqttLink> topic_;
};

}  // namespace polykern
