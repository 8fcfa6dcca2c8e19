#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "console.h"
#include "federation/input_stream.h"
#include "federation/sample_reader.h"
#include "federation/waiting_samples.h"
#include "options.h"
#include "polykern/core/error.h"
#include "polykern/data/agreed_scale.h"
#include "polykern/net/agent/agent.h"

namespace polykern {
namespace {

using Clock = std::chrono::steady_clock;

/// Everything `polykern join` can be told.
struct JoinOptions {
  AgentOptions agent;
  ReaderOptions reader;
  std::string input = "-";
  bool strict = false;
  std::size_t pending = 10'000;  ///< predictions that may wait for their labels
  bool wait = false;             ///< every sample waits for a step of its own
  bool no_wait = false;          ///< not even those of a file
  double give_up = 0;            ///< seconds without a connection; 0: never
  double ask_again = 60;         ///< seconds after a refusal
  double keepalive = 10;         ///< seconds
};

struct Counts {
  std::uint64_t samples = 0, learnt = 0, bad = 0, clipped = 0;
};

/// Waits with `wait(time)` until it gives true, however long; says on standard error why it takes
/// so long, each reason once.
template <typename Wait>
void Patiently(const Agent& agent, double give_up, Wait wait) {
  const auto began = Clock::now();
  auto connected = began;
  bool told_to_wait = false;
  std::string told;
  while (!wait(std::chrono::milliseconds(200))) {
    const AgentStatus status = agent.status();
    if (status.connected) connected = Clock::now();
    if (!status.trouble.empty() && status.trouble != told) {
      told = status.trouble;
      std::cerr << "polykern: " << told << "; trying again" << std::endl;
    }
    constexpr std::chrono::seconds kPatience{10};
    if (status.connected && !told_to_wait && Clock::now() - began > kPatience) {
      told_to_wait = true;
      std::cerr << "polykern: waiting: step " << status.step
                << " has not ended; the server's log says for whom" << std::endl;
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

/// An agent beside its input, from the first model to the input's end.
class Session {
 public:
  explicit Session(const JoinOptions& o) : o_(o), agent_(o.agent), waiting_(o.pending) {
    const InputKind kind = KindOf(o.input);
    wait_ = o.wait || (kind != InputKind::kStream && !o.no_wait);
    can_go_on_ = kind == InputKind::kFile;
    Patiently(agent_, o.give_up, [&](auto time) {
      if (!agent_.status().ready) agent_.WaitForStep(time);
      return agent_.status().ready;
    });
    federation_ = agent_.configuration();
    scale_ = AgreedScale(federation_);
  }

  void Run(std::istream& input) {
    bool broken = false;
    try {
      Read(input);
    } catch (const BrokenInput& error) {
      broken = true;
      std::cerr << "polykern: " << error.Spelled(ShellSpelling) << "; stopped learning"
                << std::endl;
    }
    Patiently(agent_, o_.give_up, [&](auto time) { return agent_.WaitUntilCounted(time); });
    std::cerr << "polykern: " << Count(counts_.samples, "sample") << ", " << counts_.learnt
              << " learnt; " << Count(counts_.bad, "bad line") << ", "
              << Count(counts_.clipped, "value") << " clipped; " << waiting_.size()
              << " still without a label, " << waiting_.forgotten() << " forgotten" << std::endl;
    const AgentStatus status = agent_.status();
    if (status.unlearnt > 0 && !status.finished) {
      std::cerr << "polykern: " << Count(status.unlearnt, "label")
                << " not learnt from: a step takes one; with --wait each sample waits for a step"
                << std::endl;
    }
    if (broken) {
      throw Error(InputName(o_.input) +
                  ": not read to its end; start the agent again when it can be");
    }
  }

 private:
  void Read(std::istream& input) {
    SampleReader reader(input, InputName(o_.input), federation_, o_.reader);
    FindBeginning(reader);
    InputSample sample;
    while (reader.Next(sample)) {
      TellOfTheServer();
      try {
        if (!sample.problem.empty()) throw UnusableSample(sample.problem);
        Take(sample);
      } catch (const UnusableSample& error) {
        if (o_.strict) throw;
        if (sample.read.line <= learnt_before_) continue;  // an earlier process has told it
        ++counts_.bad;
        std::cerr << "polykern: " << error.Spelled(ShellSpelling) << "; skipped" << std::endl;
      }
    }
  }

  /// Of a file that begins with what an earlier process has learnt, that is not learnt again.
  void FindBeginning(SampleReader& reader) {
    const InputPosition before = agent_.position();
    if (!can_go_on_ || before.line == 0) return;
    const bool same = reader.BeginsWith(before);
    if (same) learnt_before_ = before.line;
    std::cerr << "polykern: " << InputName(o_.input)
              << (same ? ": lines 1 to " + std::to_string(before.line) +
                             " were learnt before and are passed over"
                       : ": does not begin with what was learnt last; read from its first line")
              << std::endl;
  }

  /// Beside a stream nobody waits for the server. Says once why it is away or will not have this
  /// agent, and once that it is there again.
  void TellOfTheServer() {
    if (wait_) return;
    const AgentStatus status = agent_.status();
    if (status.connected) {
      if (!told_.empty()) std::cerr << "polykern: connected again" << std::endl;
      told_.clear();
      return;
    }
    const std::string failure = status.failure ? status.failure->Spelled(ShellSpelling) : "";
    if (!failure.empty() ? failure != told_ : told_.empty() && !status.trouble.empty()) {
      told_ = !failure.empty() ? failure : status.trouble;
      std::cerr << "polykern: " << told_ << "; predicting with the model of step " << status.step
                << ", and trying again" << std::endl;
    }
  }

  [[noreturn]] void Refuse(const InputSample& sample, const std::string& why) const {
    throw UnusableSample(InputName(o_.input) + ", line " + std::to_string(sample.read.line) + ": " +
                         why);
  }

  void Take(const InputSample& sample) {
    // What an earlier process has learnt of a file is only looked at for who still waits.
    const bool again = sample.read.line <= learnt_before_;
    if (sample.x.empty()) {
      const auto x = waiting_.Take(sample.id);
      if (again) return;
      if (!x) Refuse(sample, "no sample " + sample.id + " waits for a label");
      WaitForStep();
      agent_.Predict(*x);  // with the model of now: that is what can be learnt from
      Learn(sample);
      return;
    }
    if (again && (sample.y || !sample.named)) return;
    std::vector<float> x(federation_.problem.dimension);
    const std::size_t clipped = scale_.ScaleInputs(sample.x, x);
    if (!std::ranges::all_of(x, [](float value) { return std::isfinite(value); })) {
      Refuse(sample, "an input is too large for a number of 32 bits");
    }
    if (!again) {
      WaitForStep();
      const AgentPrediction prediction = agent_.Predict(x);
      ++counts_.samples;
      counts_.clipped += clipped;
      Report(sample, scale_.UnscaleLabel(prediction.value), prediction.step);
    }
    if (sample.y) {
      Learn(sample);
    } else if (sample.named) {
      waiting_.Add(sample.id, std::move(x));
    }
  }

  void Learn(const InputSample& sample) {
    counts_.clipped += scale_.ClipsLabel(*sample.y) ? 1 : 0;
    // A stream's lines do not come again, but those of a file may that was learnt before it.
    const InputPosition position = can_go_on_ ? sample.read : agent_.position();
    try {
      counts_.learnt += agent_.Learn(scale_.ScaleLabel(*sample.y), position) ? 1 : 0;
    } catch (const UnusableSample& error) {
      Refuse(sample, error.marked());
    }
  }

  void WaitForStep() {
    if (!wait_) return;
    Patiently(agent_, o_.give_up, [&](auto time) { return agent_.WaitForStep(time); });
  }

  const JoinOptions& o_;
  Agent agent_;
  bool wait_ = false;
  bool can_go_on_ = false;  // the input is a file that can be read again
  FederationConfiguration federation_;
  Scale scale_;
  std::uint64_t learnt_before_ = 0;  // lines of a file, by an earlier process
  WaitingSamples waiting_;
  Counts counts_;
  std::string told_;  // of the server, and holds
};

void Execute(const JoinOptions& o) {
  const std::shared_ptr<std::istream> input = OpenInput(o.input);
  Session(o).Run(*input);
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
  AddServerOption(join, link.server, "HOST, or HOST:PORT").capture_default_str();
  join.add_option("--certificates", link.certificates,
                  "Folder with ca.crt, client.crt, client.key (polykern pki issue)");
  join.add_flag("--insecure", link.insecure, "No certificates; the server must be insecure, too");
  join.add_option("--name", link.name, "With --insecure: who this is");
  join.add_option(
      "--state", o->agent.state,
      "File that remembers what was learnt, and how far a file of --input was (default: "
      "nothing is remembered)");
  join.add_option("-i,--input", o->input,
                  "Samples, CSV with a header or JSON lines: a file, - for standard input, or "
                  "tcp://HOST:PORT")
      ->capture_default_str();
  join.add_option("-t,--target", o->reader.target,
                  "Column of the label (default: what the server says, or y)");
  join.add_option("--id", o->reader.id, "Column that names a sample")->capture_default_str();
  join.add_flag("--strict", o->strict, "Stop at a bad line (default: report and skip it)");
  join.add_flag("--report", o->agent.report,
                "Tell the server how well this agent predicts: mean squared error and regret");
  join.add_option("--pending", o->pending,
                  "Most samples that wait for their labels; of more, the oldest is forgotten")
      ->check(WholeNumber(0))
      ->capture_default_str();
  auto* const wait = join.add_flag("--wait", o->wait,
                                   "Every sample waits for a step of its own (default for files)");
  join.add_flag("--no-wait", o->no_wait,
                "Predict at once; labels beyond one per step are not learnt from (default for "
                "streams)")
      ->excludes(wait);
  join.add_option("--give-up", o->give_up, "Seconds without a connection (default: never)")
      ->check(CLI::PositiveNumber);
  join.add_option("--ask-again", o->ask_again,
                  "Seconds after which a server that refused this agent is asked again")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str();
  AddKeepaliveOption(join, o->keepalive);
  join.callback([o] {
    o->agent.link.keepalive = Milliseconds(o->keepalive);
    o->agent.link.refused_wait = Milliseconds(o->ask_again);
    if (!o->agent.link.insecure && o->agent.link.certificates.empty()) {
      throw Error("--certificates is needed: the folder that `polykern pki issue` made");
    }
    Execute(*o);
  });
}

}  // namespace polykern
