#include <iostream>
#include <memory>
#include <optional>

#include "commands.h"
#include "common_options.h"
#include "console.h"
#include "federation/configured.h"
#include "federation/federation_options.h"
#include "federation/join_session.h"
#include "polykern/core/error.h"
#include "polykern/core/interval.h"
#include "polykern/core/text.h"
#include "polykern/data/mqtt/mqtt_input.h"
#include "polykern/data/samples/input_stream.h"
#include "polykern/net/agent/renewal.h"
#include "service.h"

namespace polykern {
namespace {

/// The folder of a service's credentials. Its unit has an empty line in place of what is missing.
std::string CertificatesOfService() {
  if (CredentialsFolder().empty()) {
    throw Error(OptionName("certificates") +
                " is needed: the folder that `polykern pki issue` made; a service's is " +
                "/etc/polykern/join/NAME");
  }
  for (const char* file : {"client.crt", "client.key", "ca.crt"}) {
    if (!CredentialsWith(file).empty()) continue;
    throw Error(std::string("/etc/polykern/join/NAME/") + file +
                ": there is no such file; copy the folder there that `polykern pki issue` made");
  }
  return CredentialsFolder();
}

void CheckTopic(const std::string& key, const std::string& what) {
  try {
    if (IsMqtt(what)) ParseMqtt(what);
  } catch (const Error& error) {
    throw Error(OptionName(key) + " " + error.marked());
  }
}

void Complete(JoinOptions& o) {
  CheckTopic("input", o.input);
  CheckTopic("output", o.output.output);
  if (o.agent.coverage) CheckCoverage(*o.agent.coverage);
  o.output.intervals = o.agent.coverage.has_value();
  LinkOptions& link = o.agent.link;
  link.keepalive = Milliseconds(o.keepalive);
  link.refused_wait = Milliseconds(o.ask_again);
  if (link.insecure && !o.renew.empty()) {
    throw Error(OptionName("renew") + " has no effect with " + OptionName("insecure") +
                ": leave it out");
  }
  if (link.insecure) return;
  if (link.certificates.empty()) link.certificates = CertificatesOfService();
  WarnOfOpenKeys({link.certificates + "/client.key"});
}

std::unique_ptr<MqttInput> OpenBroker(const JoinOptions& o) {
  if (!IsMqtt(o.input)) return nullptr;
  const MqttAddress broker = ParseMqtt(o.input);
  if (IsMqtt(o.output.output) && ParseMqtt(o.output.output).name() == broker.name()) {
    throw Error(OptionName("input") + " and " + OptionName("output") +
                " name the same topic; choose another for one of them");
  }
  return std::make_unique<MqttInput>(broker, "polykern-" + NameOf(o), TellOfBroker);
}

void Join(JoinOptions& o) {
  LeaveNoCoreFiles();
  std::optional<CertificateRenewal> renewal;
  std::unique_ptr<MqttInput> broker;
  std::shared_ptr<std::istream> input;
  const auto session = Configured([&] {
    Complete(o);
    if (!o.renew.empty()) {
      renewal.emplace(o.renew, o.agent.link.certificates, [](const std::string& line) {
        std::cerr << "polykern: " + Printable(Error(line).Spelled(ShellSpelling)) + "\n"
                  << std::flush;
      });
    }
    broker = OpenBroker(o);
    if (broker == nullptr) input = OpenInput(o.input);
    return std::make_unique<JoinSession>(o);
  });
  session->Run(broker != nullptr ? *broker : *input, broker.get());
}

}  // namespace

void AddJoinCommand(CLI::App& program, const std::string& typed) {
  auto o = std::make_shared<JoinOptions>();
  CLI::App& join = *program.add_subcommand(
      "join",
      "Take part in a federation with a stream of "
      "samples: predictions out, updates to the server.\n"
      "Example: " +
          typed +
          " --server learn.example.org:7433 --certificates station-7 --state station-7.state "
          "< samples.csv");
  AddConfigOption(join);
  LinkOptions& link = o->agent.link;
  AddServerOption(join, link.server,
                  "HOST, or HOST:PORT; of several, separated by commas, the next is tried if one "
                  "does not answer")
      .capture_default_str();
  join.add_option("--certificates", link.certificates,
                  "Folder with ca.crt, client.crt, client.key (polykern pki issue)");
  join.add_flag("--insecure", link.insecure,
                "No certificates; for servers that run with --insecure");
  join.add_option("--name", link.name, "With --insecure: this client's name");
  join.add_option("--renew", o->renew,
                  "HOST:PORT of `polykern pki serve`, which renews the certificate when a third of "
                  "its time is left; the folder must be writable (default: none)");
  join.add_option("--state", o->agent.state,
                  "File that remembers what was learnt, and how much of "
                  "--input was read (default: nothing is remembered)");
  join.add_option("-i,--input", o->input,
                  "Samples, CSV with a header or JSON lines: a file, - for standard input, "
                  "tcp://HOST:PORT, or mqtt://[USER:PASSWORD@]HOST[:PORT]/TOPIC")
      ->capture_default_str();
  join.add_option("-t,--target", o->target,
                  "Column of the label (default: what the server says, or y)");
  join.add_option("--id", o->id, "Column that names a sample")->capture_default_str();
  AddFileFormOptions(join, o->delimiter, o->decimal);
  join.add_option(
      "--output", o->output.output,
      "File to which predictions are appended, as JSON lines, or mqtt://.. as in --input "
      "(default: standard output)");
  join.add_option("--predictions", o->output.predictions,
                  "CSV file to which predictions are appended when their labels are known: time, "
                  "client, label, prediction, interval");
  join.add_option("--coverage", o->agent.coverage,
                  "Give each prediction an interval that covers this share of "
                  "the labels, such as 0.9 (default: no intervals)");
  join.add_flag("--strict", o->strict, "Stop at a bad line (default: report and skip it)");
  join.add_flag("--report", o->agent.report,
                "Tell the server how well this agent predicts: mean squared error and regret");
  join.add_flag("--masked", o->agent.masked,
                "Refuse to take part unless the server sees only sums over several clients");
  join.add_option("--pending", o->pending,
                  "Most samples that wait for their labels; beyond that, the oldest is forgotten")
      ->check(WholeNumber(0))
      ->capture_default_str();
  auto* const wait = join.add_flag(
      "--wait", o->wait, "Wait for a step of its own for every sample (default for files)");
  join.add_flag("--no-wait", o->no_wait,
                "Predict at once, and learn from one label per step at most (default for streams)")
      ->excludes(wait);
  join.add_option("--give-up", o->give_up,
                  "Seconds without a connection after which to stop (default: never)")
      ->check(CLI::PositiveNumber);
  join.add_option("--ask-again", o->ask_again,
                  "Seconds after which a server that refused this agent is asked again")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str();
  AddKeepaliveOption(join, o->keepalive);
  join.callback([o] { Join(*o); });
}

}  // namespace polykern
