#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "console.h"
#include "input_stream.h"
#include "options.h"
#include "polykern/core/error.h"
#include "polykern/data/scaling.h"
#include "polykern/data/source.h"
#include "polykern/net/agent.h"
#include "sample_reader.h"

namespace polykern {
namespace {

using Clock = std::chrono::steady_clock;

/// Everything `polykern join` can be told.
struct JoinOptions {
  AgentOptions agent;
  ReaderOptions reader;
  std::string input = "-";
  bool strict = false;
  bool wait = false;      ///< every sample waits for a step of its own
  bool no_wait = false;   ///< not even those of a file
  double give_up = 0;     ///< seconds without a connection; 0: never
  double keepalive = 10;  ///< seconds
};

struct Counts {
  std::uint64_t samples = 0, learnt = 0, bad = 0, clipped = 0;
};

Scale ScaleOf(const FederationConfiguration& federation) {
  Scale scale;
  scale.kind = federation.scaling == "none" ? Scaling::kNone : ParseScaling(federation.scaling);
  scale.norm = federation.norm;
  for (const ColumnRange& column : federation.columns) {
    scale.features.push_back({column.low, column.high});
  }
  scale.target = {federation.target.low, federation.target.high};
  return scale;
}

/// Waits with `wait(time)` until it gives true, however long; says on standard error why it takes
/// so long, each reason once.
template <typename Wait>
void Patiently(const Agent& agent, double give_up, Wait wait) {
  auto connected = Clock::now();
  std::string told;
  while (!wait(std::chrono::milliseconds(200))) {
    const AgentStatus status = agent.status();
    if (status.connected) connected = Clock::now();
    if (!status.trouble.empty() && status.trouble != told) {
      told = status.trouble;
      std::cerr << "polykern: " << told << "; trying again" << std::endl;
    }
    const std::chrono::duration<double> away = Clock::now() - connected;
    if (give_up > 0 && away.count() > give_up) {
      throw Error("no connection for " + Fixed(give_up, 1) +
                  " s: " + (told.empty() ? "the server does not answer" : told));
    }
  }
}

void Report(const InputSample& sample, double prediction, std::uint64_t step) {
  std::cout << "{\"id\":" << sample.id << ",\"prediction\":" << nlohmann::json(prediction).dump()
            << ",\"step\":" << step << "}" << std::endl;
  if (!std::cout) throw Error("standard output cannot be written to");
}

void Execute(const JoinOptions& o) {
  const std::shared_ptr<std::istream> input = OpenInput(o.input);
  const bool is_file = o.input != "-" && !o.input.starts_with("tcp://");
  const bool wait = o.wait || (is_file && !o.no_wait);
  Agent agent(o.agent);
  Patiently(agent, o.give_up, [&](auto time) {
    if (!agent.status().ready) agent.WaitForStep(time);
    return agent.status().ready;
  });
  const FederationConfiguration federation = agent.configuration();
  const Scale scale = ScaleOf(federation);
  SampleReader reader(*input, o.input == "-" ? "standard input" : o.input, federation, o.reader);
  const std::uint64_t learnt_before = is_file ? agent.position() : 0;
  InputSample sample;
  Counts counts;
  std::vector<float> x(federation.problem.dimension);
  while (reader.Next(sample)) {
    if (sample.line <= learnt_before) continue;
    if (!sample.problem.empty()) {
      if (o.strict) throw Error(sample.problem);
      ++counts.bad;
      std::cerr << "polykern: " << sample.problem << "; skipped" << std::endl;
      continue;
    }
    if (wait) Patiently(agent, o.give_up, [&](auto time) { return agent.WaitForStep(time); });
    counts.clipped += scale.ScaleInputs(sample.x, x);
    const AgentPrediction prediction = agent.Predict(x);
    ++counts.samples;
    Report(sample, scale.UnscaleLabel(prediction.value), prediction.step);
    if (!sample.y) continue;
    counts.clipped += scale.ClipsLabel(*sample.y) ? 1 : 0;
    counts.learnt += agent.Learn(scale.ScaleLabel(*sample.y), sample.line) ? 1 : 0;
  }
  Patiently(agent, o.give_up, [&](auto time) { return agent.WaitUntilCounted(time); });
  std::cerr << "polykern: " << Count(counts.samples, "sample") << ", " << counts.learnt
            << " learnt; " << Count(counts.bad, "bad line") << ", "
            << Count(counts.clipped, "value") << " clipped" << std::endl;
}

}  // namespace

void AddJoinCommand(CLI::App& program) {
  auto o = std::make_shared<JoinOptions>();
  CLI::App& join = *program.add_subcommand(
      "join",
      "Take part in a federation, beside a stream of samples: predictions out, updates to the "
      "server.\n"
      "Example: polykern join --server learn.example.org:7433 --certificates station-7 --state "
      "station-7.state < samples.csv");
  AddConfigOption(join);
  LinkOptions& link = o->agent.link;
  join.add_option("--server", link.server, "HOST:PORT")->capture_default_str();
  join.add_option("--certificates", link.certificates,
                  "Folder with ca.crt, client.crt, client.key (polykern pki issue)");
  join.add_flag("--insecure", link.insecure, "No certificates; the server must be insecure, too");
  join.add_option("--name", link.name, "With --insecure: who this is");
  join.add_option("--state", o->agent.state,
                  "File that remembers what was learnt (default: nothing is remembered)");
  join.add_option("-i,--input", o->input,
                  "Samples, CSV with a header or JSON lines: a file, - for standard input, or "
                  "tcp://HOST:PORT")
      ->capture_default_str();
  join.add_option("-t,--target", o->reader.target,
                  "Column of the label (default: what the server says, or y)");
  join.add_option("--id", o->reader.id, "Column that names a sample")->capture_default_str();
  join.add_flag("--strict", o->strict, "Stop at a bad line (default: report and skip it)");
  auto* const wait = join.add_flag("--wait", o->wait,
                                   "Every sample waits for a step of its own (default for files)");
  join.add_flag("--no-wait", o->no_wait,
                "Predict at once; labels beyond one per step are not learnt from (default for "
                "streams)")
      ->excludes(wait);
  join.add_option("--give-up", o->give_up, "Seconds without a connection (default: never)")
      ->check(CLI::PositiveNumber);
  AddKeepaliveOption(join, o->keepalive);
  join.callback([o] {
    o->agent.link.keepalive = Milliseconds(o->keepalive);
    if (!o->agent.link.insecure && o->agent.link.certificates.empty()) {
      throw Error("--certificates is needed: the folder that `polykern pki issue` made");
    }
    Execute(*o);
  });
}

}  // namespace polykern
