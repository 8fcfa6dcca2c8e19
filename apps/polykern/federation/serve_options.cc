#include "federation/serve_options.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "federation/client_names.h"
#include "federation/configured.h"
#include "federation/federation_options.h"
#include "options.h"
#include "polykern/core/error.h"
#include "polykern/core/version.h"
#include "polykern/net/server/server.h"
#include "polykern/net/store_kinds/open_store.h"

namespace polykern {
namespace {

Range ParseTargetRange(const std::string& text) {
  try {
    return ParseRange("=" + text).range;
  } catch (const Error&) {
    throw Error(OptionName("target_range", "'" + text + "'") +
                " is neither of the form LOW:HIGH nor none");
  }
}

}  // namespace

void CompleteServeOptions(ServeOptions& o) {
  o.federation.plain_labels = o.target_range == "none";
  if (!o.target_range.empty() && !o.federation.plain_labels) {
    const Range range = ParseTargetRange(o.target_range);
    o.federation.target_range = {"", range.low, range.high};
  }
  o.hosted.rounds.roster = ReadClientNames(o.hosted.rounds.roster, OptionName("clients"));
  o.hosted.rounds.least_clients = LeastClientsOfStep(o.federation);
  o.hosted.rounds.use_late = o.stale == "accept";
  o.hosted.rounds.asynchronous = o.mode == "async";
  if (o.hosted.rounds.asynchronous && o.has_rounds) {
    throw Error(OptionName("mode", "async") + " has no rounds; leave out " + OptionName("quorum") +
                " and " + OptionName("deadline"));
  }
  if (o.retry_latest < o.retry_earliest) {
    throw Error(OptionName("retry_latest") + " must not be less than " +
                OptionName("retry_earliest"));
  }
  o.hosted.rounds.retry_earliest = Milliseconds(o.retry_earliest);
  o.hosted.rounds.retry_latest = Milliseconds(o.retry_latest);
  if (const std::size_t most = MostConnectedHere(); o.hosted.rounds.most_connected > most) {
    if (o.has_max_connected) {
      throw Error(OptionName("max_connected", std::to_string(o.hosted.rounds.most_connected)) +
                  ": there are file descriptors for " + std::to_string(most) +
                  " clients; raise their limit (ulimit -n), or lower this one");
    }
    o.hosted.rounds.most_connected = most;
  }
  // Connections come before their hellos do.
  o.hosted.server.most_connections =
      2 * o.hosted.rounds.most_connected + o.hosted.server.most_of_one;
  o.hosted.rounds.deadline = Milliseconds(o.deadline);
  o.hosted.server.keepalive = Milliseconds(o.keepalive);
  if (o.hosted.log.text == "none") o.hosted.log.text.clear();
}

CLI::App& AddServeOptions(CLI::App& program, const std::shared_ptr<ServeOptions>& o) {
  o->hosted.log.text = "-";
  o->hosted.version = Version();
  o->hosted.spelling = [](std::string_view key, std::string_view value) {
    return ShellSpelling(key, value);
  };
  CLI::App& serve = *program.add_subcommand(
      "serve",
      "Run a federation's server, until stopped. It resumes from its store, which also remembers\n"
      "the federation's settings: options of Data and Algorithm are for a new store.\n"
      "Example: polykern serve --listen 0.0.0.0:7433 --columns temperature,wind --scaling range "
      "--range temperature=-40:50,wind=0:60 --target power --target-range 0:3000");
  AddConfigOption(serve);
  const auto group = [](const char* name, CLI::Option* option) { option->group(name); };
  group("Server", serve.add_option("--listen", o->hosted.server.listen, "HOST:PORT; port 0: any")
                      ->capture_default_str());
  group("Server", serve
                      .add_option("--certificates", o->hosted.server.certificates,
                                  "The authority's folder (polykern pki init)")
                      ->capture_default_str());
  group("Server", serve
                      .add_option("--store", o->hosted.store,
                                  "File, or postgresql:// URL of a database, that keeps everything")
                      ->capture_default_str());
  group("Server",
        serve.add_option_function<std::string>(
            "--from", [o](const std::string& path) { o->federation.from = StorePath(path); },
            "Store of an earlier federation: a new store takes its settings, except those given "
            "here, and clients use its model beside what they learn"));
  group("Server", serve.add_option("--helper", o->hosted.helper,
                                   "HOST:PORT of the polykern helper that removes "
                                   "masks; needed with --masking helper"));
  group("Server", serve.add_flag("--insecure", o->hosted.server.insecure,
                                 "No certificates, on the loopback only: for trials"));
  group("Server",
        serve.add_flag("--insecure-anywhere-i-know-what-i-am-doing",
                       o->hosted.server.insecure_anywhere, "--insecure on every address"));
  group(
      "Watching",
      serve.add_option("--metrics", o->hosted.metrics,
                       "HOST:PORT, or PORT on the loopback, for Prometheus, /healthz and `polykern "
                       "status`; plain HTTP (default: none)"));
  group("Watching", serve.add_option("--web", o->hosted.web.listen,
                                     "HOST:PORT, or PORT on the loopback, for a page that shows "
                                     "the federation in a browser; TLS (default: none)"));
  group("Watching", serve.add_option("--web-token", o->hosted.web.token,
                                     "File with a token that opens the page, created if "
                                     "missing (default: only clients' certificates open it)"));
  group("Watching", serve
                        .add_option("--web-viewers", o->hosted.web.viewers,
                                    "Clients whose certificates open the page (default: all)")
                        ->delimiter(','));
  group(
      "Watching",
      serve.add_option("--log", o->hosted.log.text, "Log file for people; -: standard error; none")
          ->capture_default_str());
  group("Watching", serve.add_option("--audit", o->hosted.log.audit,
                                     "Log file of the same events as JSON lines (default: none)"));
  AddKeepaliveOption(serve, o->keepalive).group("Server");
  group("Rounds",
        serve
            .add_option("--clients", o->hosted.rounds.roster,
                        "The only clients, numbered in this order, or @FILE with one on a line "
                        "(default: all that have a certificate)")
            ->delimiter(','));
  group("Rounds", serve.add_option_function<std::string>(
                      "--quorum",
                      [o](const std::string& t) {
                        o->hosted.rounds.quorum = Configured([&t] { return ParseQuorum(t); });
                      },
                      "Clients that must answer a step: a percentage of those connected, a number, "
                      "or all that ever "
                      "took part (default: 80%, and at least --least-clients, which is 2 then)"));
  group("Rounds", serve
                      .add_option("--deadline", o->deadline,
                                  "Seconds after a step's first update when a quorum ends it")
                      ->check(CLI::Range(0.0, 1e6))
                      ->capture_default_str());
  group("Rounds", serve
                      .add_option("--stale", o->stale,
                                  "Updates for a step that has ended: drop, or accept (pof-gram, "
                                  "pof-newton, local, local-rls)")
                      ->check(CLI::IsMember({"drop", "accept"}))
                      ->capture_default_str());
  group("Rounds", serve
                      .add_option("--mode", o->mode,
                                  "sync: rounds; async: every update is applied as it comes (the "
                                  "same algorithms as --stale accept)")
                      ->check(CLI::IsMember({"sync", "async"}))
                      ->capture_default_str());
  group("Rounds", serve.add_option("-s,--steps", o->hosted.rounds.steps, "Steps; 0: without end")
                      ->check(WholeNumber(0))
                      ->capture_default_str());
  group("Rounds", serve
                      .add_option("--max-clients", o->hosted.rounds.most_clients,
                                  "Most clients, if --clients does not name them")
                      ->check(WholeNumber(1))
                      ->capture_default_str());
  group("Rounds", serve
                      .add_option("--max-connected", o->hosted.rounds.most_connected,
                                  "Most clients at one time; others are told when to retry")
                      ->check(WholeNumber(1))
                      ->capture_default_str());
  group("Server",
        serve
            .add_option("--max-handshakes-per-address", o->hosted.server.most_handshakes_of_address,
                        "Most connections from one address that may be opening at the same time; "
                        "beyond that, the oldest is closed")
            ->check(WholeNumber(1))
            ->capture_default_str());
  group("Rounds", serve
                      .add_option("--retry-earliest", o->retry_earliest,
                                  "Earliest retry of a client that was turned away, in seconds")
                      ->check(CLI::Range(0.001, 1e6))
                      ->capture_default_str());
  group("Rounds", serve
                      .add_option("--retry-latest", o->retry_latest,
                                  "Latest retry of a client that was turned away, in seconds")
                      ->check(CLI::Range(0.001, 1e6))
                      ->capture_default_str());
  group("Data", serve.add_option("--columns", o->federation.columns, "Input columns, in order")
                    ->delimiter(','));
  group("Data", serve
                    .add_option("--dimension", o->federation.dimension,
                                "Inputs per sample, if they have no names")
                    ->check(WholeNumber(1)));
  group("Data", serve
                    .add_option("--scaling", o->federation.scaling,
                                "Of inputs: range, norm (divided by --norm) or none (default: "
                                "range if there are ranges)")
                    ->check(CLI::IsMember({"none", "norm", "range"})));
  group(
      "Data",
      serve
          .add_option_function<std::vector<std::string>>(
              "--range",
              [o](const std::vector<std::string>& texts) {
                for (const auto& text : texts) {
                  const DeclaredRange range = Configured([&text] { return ParseRange(text); });
                  o->federation.ranges.push_back({range.column, range.range.low, range.range.high});
                }
              },
              "COLUMN=LOW:HIGH for each input; values outside are clipped")
          ->delimiter(','));
  group("Data", serve
                    .add_option("--norm", o->federation.norm,
                                "With --scaling norm: the largest norm of a sample's inputs")
                    ->check(CLI::PositiveNumber));
  group("Data",
        serve
            .add_option(
                "--learn-ranges", o->federation.learn_ranges,
                "Instead of --range and --target-range: learn all ranges from this many first "
                "samples of each client; needs --clients, or a --quorum that is a number")
            ->check(WholeNumber(1)));
  group("Data", serve
                    .add_option("--lags", o->federation.lags,
                                "Own past labels as inputs, which agents add; 1 is the last one "
                                "that is known")
                    ->delimiter(',')
                    ->check(WholeNumber(1)));
  group("Data", serve
                    .add_option("--calendar", o->federation.calendar,
                                "hour, weekday and month of --time as inputs, which agents add")
                    ->delimiter(','));
  group("Data", serve.add_option(
                    "--time", o->federation.time,
                    "The column of times: samples come in their order, and forgetting is auto"));
  group("Data", serve
                    .add_option("--ahead", o->federation.ahead,
                                "Steps from the last known label to the one that is predicted "
                                "(default: 1)")
                    ->check(WholeNumber(1)));
  group("Data", serve
                    .add_option("--categories", o->federation.categories,
                                "COLUMN=TEXT:TEXT:.. for columns of texts: each text is an input; "
                                "COLUMN alone: all texts share 32 inputs by their hash")
                    ->delimiter(','));
  group("Data", serve
                    .add_option("--missing", o->federation.missing,
                                "Samples that lack an input: drop, or impute (the mean so far, and "
                                "an input that marks it) (default: drop)")
                    ->check(CLI::IsMember({"drop", "impute"})));
  group("Data", serve.add_option("-t,--target", o->federation.target, "The column to predict"));
  group("Data", serve.add_option("--target-range", o->target_range,
                                 "LOW:HIGH, scaled to [0, 1]; labels outside are clipped; none: "
                                 "labels are used as they are"));
  AddAlgorithmOptions(serve, o->federation.options);
  group("Algorithm", serve.add_option("-a,--algorithm", o->federation.algorithm,
                                      std::string("Algorithm (default: ") + kAlgorithmOfNew + ")"));
  group("Algorithm", serve
                         .add_option("--horizon", o->federation.horizon,
                                     "T in rates of 1/sqrt(T) (default: the store's, else --steps, "
                                     "or 10000)")
                         ->check(WholeNumber(1)));
  group("Algorithm",
        serve.add_option("--seed", o->federation.seed, "Seed of everything random (default: 0)")
            ->check(WholeNumber(0)));
  return serve;
}

}  // namespace polykern
