#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "commands.h"
#include "common_options.h"
#include "federation/join_output.h"
#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/data/agreed_scale.h"
#include "polykern/data/samples/agreed_columns.h"
#include "polykern/data/samples/input_stream.h"
#include "polykern/data/samples/sample_feed.h"
#include "polykern/net/agent/agent_news.h"
#include "polykern/net/agent/model_predictor.h"
#include "polykern/results/text_table.h"

namespace polykern {
namespace {

/// Everything `polykern predict` can be told.
struct PredictOptions {
  std::string model;
  std::string data = "-";
  std::string state;
  JoinOutputOptions output;
  std::string target;
  std::string id = "id";
  char delimiter = 0;
  char decimal = '.';
};

ModelPredictor OpenModel(const PredictOptions& options) {
  const ExportedModel model = ReadExport(options.model);
  std::optional<AgentState> own;
  if (!options.state.empty()) {
    own = ReadAgentState(options.state);
    if (!own) throw Error(options.state + ": there is no such file; check the path");
  }
  try {
    return ModelPredictor(model, own);
  } catch (const Error& error) {
    throw Error((own ? options.state : options.model) + ": " + error.marked());
  }
}

void Predict(const PredictOptions& options) {
  ModelPredictor predictor = OpenModel(options);
  const FederationConfiguration& federation = predictor.configuration();
  SampleColumns columns = AgreedColumns(federation, options.target, options.id);
  columns.labelled = !federation.lags.empty();
  columns.delimiter = options.delimiter;
  columns.decimal = options.decimal;
  const Scale scale = AgreedScale(federation);
  constexpr std::size_t kMostWaiting = 10'000;  // for labels that lags need
  const std::shared_ptr<std::istream> input = OpenInput(options.data);
  SampleFeed feed(*input, InputName(options.data), columns, scale, kMostWaiting);
  feed.Remember(predictor.position());
  JoinOutput output(options.output, "");
  BadLines bad_lines;
  std::uint64_t bad = 0;
  const auto tell = [](const std::string& line) {
    if (!line.empty()) std::cerr << "polykern: " + Printable(line) + "\n" << std::flush;
  };
  for (FeedSample sample; feed.Next(sample);) {
    if (!sample.problem.empty()) {
      ++bad;
      tell(bad_lines.Next(Error(sample.problem).Spelled(ShellSpelling),
                          std::chrono::steady_clock::now()));
    } else if (!sample.late_label) {
      output.Predicted(sample.id, predictor.Predict(sample.x), scale);
    }
  }
  const FeedCounts counts = feed.counts();
  tell(Count(counts.samples, "sample") + "; " + Count(bad, "bad line") + ", " +
       Count(counts.clipped, "value") + " clipped");
}

}  // namespace

void AddPredictCommand(CLI::App& program) {
  auto o = std::make_shared<PredictOptions>();
  CLI::App& predict = *program.add_subcommand(
      "predict",
      "Predict for the samples of a file with an exported model; nothing is learnt.\n"
      "Example: polykern predict --model wind.model --data samples.csv");
  AddConfigOption(predict);
  predict.add_option("--model", o->model, "What polykern store export wrote")->required();
  predict
      .add_option("--data", o->data,
                  "Samples, CSV with a header or JSON lines: a file, - for standard input, or "
                  "tcp://HOST:PORT; labels may be missing")
      ->capture_default_str();
  predict.add_option("--state", o->state,
                     "An agent's state: its own weights and private experts in place of the "
                     "clients' mean (default: none)");
  predict.add_option("--output", o->output.output,
                     "File to which predictions are appended, as JSON lines (default: standard "
                     "output)");
  predict.add_option("-t,--target", o->target,
                     "Column of the label, which lags need (default: the federation's, or y)");
  predict.add_option("--id", o->id, "Column that names a sample")->capture_default_str();
  AddFileFormOptions(predict, o->delimiter, o->decimal);
  predict.callback([o] { Predict(*o); });
}

}  // namespace polykern
