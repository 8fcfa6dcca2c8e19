#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "console.h"
#include "options.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/version.h"
#include "polykern/net/configuration.h"
#include "polykern/net/declared_federation.h"
#include "polykern/net/server/metrics_server.h"
#include "polykern/net/server/rounds.h"
#include "polykern/net/server/server.h"
#include "polykern/net/server/server_log.h"
#include "polykern/net/server/server_view.h"
#include "polykern/net/store/open_store.h"

namespace polykern {
namespace {

/// Everything `polykern serve` can be told.
struct ServeOptions {
  ServerOptions server;
  RoundsOptions rounds;
  DeclaredFederation federation;
  std::string target_range;  ///< LOW:HIGH
  std::string store = "store.db";
  ServerLogOptions log = {.text = "-", .audit = {}};
  std::string metrics;  ///< HOST:PORT; empty: none
  std::string stale = "drop";
  std::string mode = "sync";
  bool has_rounds = false;    ///< a quorum or a deadline was given
  double retry_earliest = 1;  ///< seconds
  double retry_latest = 30;   ///< seconds
  double deadline = 10;       ///< seconds
  double keepalive = 10;      ///< seconds
};

Quorum ParseQuorum(const std::string& text) {
  if (text == "all") return {};
  Quorum quorum;
  double number = 0;
  const bool percent = text.ends_with('%');
  const char* const end = text.data() + text.size() - (percent ? 1 : 0);
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const bool whole = number >= 1 && number <= 1e9 &&
                     number == static_cast<double>(static_cast<std::uint64_t>(number));
  if (error != std::errc() || stop != end || !(percent ? number > 0 && number <= 100 : whole)) {
    throw Error("--quorum '" + text +
                "' is not all, a number of clients, or a percentage like 60%");
  }
  if (percent) {
    quorum.share = number / 100;
  } else {
    quorum.count = static_cast<std::uint64_t>(number);
  }
  return quorum;
}

Range ParseTargetRange(const std::string& text) {
  try {
    return ParseRange("=" + text).range;
  } catch (const Error&) {
    throw Error("--target-range '" + text + "' is not of the form LOW:HIGH");
  }
}

void CompleteOptions(ServeOptions& o) {
  if (!o.target_range.empty()) {
    const Range range = ParseTargetRange(o.target_range);
    o.federation.target_range = {"", range.low, range.high};
  }
  o.rounds.use_late = o.stale == "accept";
  o.rounds.asynchronous = o.mode == "async";
  if (o.rounds.asynchronous && o.has_rounds) {
    throw Error("--mode async has no rounds: leave out --quorum and --deadline");
  }
  if (o.retry_latest < o.retry_earliest) {
    throw Error("--retry-latest must not lie before --retry-earliest");
  }
  o.rounds.retry_earliest = Milliseconds(o.retry_earliest);
  o.rounds.retry_latest = Milliseconds(o.retry_latest);
  // Connections come before their hellos do.
  o.server.most_connections = 2 * o.rounds.most_connected + o.server.most_of_one;
  o.rounds.deadline = Milliseconds(o.deadline);
  o.server.keepalive = Milliseconds(o.keepalive);
  if (o.log.text == "none") o.log.text.clear();
}

/// What is wrong for now; empty: nothing.
std::string TroubleOf(const RoundsStatus& status, const FederationServer& server) {
  if (status.failure) return status.failure->Spelled(ShellSpelling);
  return !status.trouble.empty() ? status.trouble : server.trouble();
}

/// Says once of each step that stands still which clients it waits for.
class Watch {
 public:
  void Look(const RoundsStatus& status, ServerLog& log) {
    const auto now = std::chrono::steady_clock::now();
    if (status.step != step_) told_ = false;
    if (status.step != step_ || status.answered != answered_ || status.answered == 0) since_ = now;
    step_ = status.step;
    answered_ = status.answered;
    constexpr std::chrono::seconds kPatience{10};
    if (told_ || status.missing.empty() || status.finished || now < since_ + kPatience) return;
    told_ = true;
    std::string names;
    for (const std::string& name : status.missing) names += (names.empty() ? "" : ", ") + name;
    log.Event("", "waiting",
              "step " + std::to_string(status.step) + " has " + std::to_string(status.answered) +
                  " of " + std::to_string(status.needed) + " answers; not those of " + names);
  }

 private:
  std::uint64_t step_ = 0;
  std::uint64_t answered_ = 0;
  std::chrono::steady_clock::time_point since_{};  // the last answer, or the step
  bool told_ = false;
};

void Execute(ServeOptions o) {
  CompleteOptions(o);
  // Only this thread hears of them; gRPC's threads inherit the mask.
  sigset_t endings;
  sigemptyset(&endings);
  sigaddset(&endings, SIGTERM);
  sigaddset(&endings, SIGINT);
  pthread_sigmask(SIG_BLOCK, &endings, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is like a full disk

  const FederationConfiguration federation =
      CompleteForStore(o.federation, o.store, o.rounds.steps);
  const auto algorithm = MakeAlgorithm(federation);
  CheckListen(o.server);
  const auto store = OpenStore(o.store, ToTexts(federation));
  ServerLog log(o.log);
  o.rounds.observer = &log;
  Rounds rounds(*algorithm, *store, o.rounds);
  const FederationServer server(o.server, algorithm->shape(), rounds);
  const auto began = std::chrono::steady_clock::now();
  std::optional<MetricsServer> metrics;
  if (!o.metrics.empty()) {
    metrics.emplace(o.metrics, [&] {
      ServerView view;
      view.algorithm = federation.algorithm;
      view.version = Version();
      view.uptime_seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
      view.rounds = rounds.status();
      view.traffic = server.traffic();
      view.step_times = log.step_times();
      view.log_events_lost = log.lost();
      view.trouble = TroubleOf(view.rounds, server);
      return view;
    });
  }
  for (const std::string& key : OptionsWithoutEffect(o.federation, federation.algorithm)) {
    std::cerr << "polykern: " << ShellSpelling(key) << " has no effect with "
              << federation.algorithm << '\n';
  }
  std::cout << "listening on " << server.address() << ": " << federation.algorithm << ", step "
            << rounds.status().step << ", " << Count(rounds.status().enrolled, "client")
            << (metrics ? ", metrics on " + metrics->address() : "")
            << (o.server.insecure ? ", INSECURE" : "") << std::endl;
  log.Event("", "started",
            "on " + server.address() + " at step " + std::to_string(rounds.status().step) +
                (o.server.insecure ? ", without certificates" : ""));

  std::string told;
  Watch watch;
  bool ended = false;
  for (;;) {
    constexpr timespec kLook{0, 200'000'000};
    if (sigtimedwait(&endings, nullptr, &kLook) > 0) break;
    const RoundsStatus status = rounds.status();
    if (status.failure) throw *status.failure;
    watch.Look(status, log);
    const std::string trouble = TroubleOf(status, server);
    if (trouble != told) {
      log.Event("", trouble.empty() ? "recovered" : "trouble", trouble);
      if (o.log.text != "-") {
        std::cerr << "polykern: " << (trouble.empty() ? "it works again" : trouble) << std::endl;
      }
    }
    told = trouble;
    if (status.finished && !ended) {
      std::cout << "finished after " << Count(status.step, "step")
                << "; clients may still fetch the model" << std::endl;
      log.Event("", "finished", "after " + Count(status.step, "step"));
      ended = true;
    }
  }
  const RoundsStatus status = rounds.status();
  log.Event("", "stopped", "at step " + std::to_string(status.step));
  std::cout << "stopped at step " << status.step << ": " << Count(status.accepted, "update")
            << " counted"
            << (status.used_late > 0 ? " (" + std::to_string(status.used_late) + " of them late)"
                                     : "")
            << ", " << status.late << " too late, " << status.duplicates << " sent twice, "
            << status.rejected << " rejected" << std::endl;
}

}  // namespace

void AddServeCommand(CLI::App& program) {
  auto o = std::make_shared<ServeOptions>();
  CLI::App& serve = *program.add_subcommand(
      "serve",
      "Run a federation's server, for as long as you like. It resumes from its store, which also\n"
      "remembers what the federation is: options of Data and Algorithm are for a new store.\n"
      "Example: polykern serve --listen 0.0.0.0:7433 --columns temperature,wind --scaling range "
      "--range temperature=-40:50,wind=0:60 --target power --target-range 0:3000");
  AddConfigOption(serve);
  const auto group = [](const char* name, CLI::Option* option) { option->group(name); };
  group("Server", serve.add_option("--listen", o->server.listen, "HOST:PORT; port 0: any")
                      ->capture_default_str());
  group("Server", serve
                      .add_option("--certificates", o->server.certificates,
                                  "The authority's folder (polykern pki init)")
                      ->capture_default_str());
  group("Server", serve.add_option("--store", o->store, "File that remembers everything")
                      ->capture_default_str());
  group("Server", serve.add_flag("--insecure", o->server.insecure,
                                 "No certificates, on the loopback only: for trials"));
  group("Server", serve.add_flag("--insecure-anywhere-i-know-what-i-am-doing",
                                 o->server.insecure_anywhere, "--insecure on every address"));
  group(
      "Watching",
      serve.add_option("--metrics", o->metrics,
                       "HOST:PORT, or PORT on the loopback, for Prometheus, /healthz and `polykern "
                       "status`; plain HTTP (default: none)"));
  group("Watching", serve
                        .add_option("--log", o->log.text,
                                    "File for what happens, to read; -: standard error; none")
                        ->capture_default_str());
  group("Watching", serve.add_option("--audit", o->log.audit,
                                     "File for the same as JSON lines (default: none)"));
  AddKeepaliveOption(serve, o->keepalive).group("Server");
  group("Rounds", serve
                      .add_option("--clients", o->rounds.roster,
                                  "The only clients, numbered in this order (default: whoever has "
                                  "a certificate)")
                      ->delimiter(','));
  group("Rounds", serve.add_option_function<std::string>(
                      "--quorum", [o](const std::string& t) { o->rounds.quorum = ParseQuorum(t); },
                      "Clients that must answer a step: all, a number, or a share like 60% "
                      "(default: all)"));
  group("Rounds", serve
                      .add_option("--deadline", o->deadline,
                                  "Seconds after a step's first update when a quorum ends it")
                      ->check(CLI::Range(0.0, 1e6))
                      ->capture_default_str());
  group("Rounds", serve
                      .add_option("--stale", o->stale,
                                  "Updates for a step that has ended: drop, or accept (pof-newton, "
                                  "local, local-rls)")
                      ->check(CLI::IsMember({"drop", "accept"}))
                      ->capture_default_str());
  group("Rounds", serve
                      .add_option("--mode", o->mode,
                                  "sync: rounds; async: every update is applied as it comes (the "
                                  "same algorithms as --stale accept)")
                      ->check(CLI::IsMember({"sync", "async"}))
                      ->capture_default_str());
  group("Rounds", serve.add_option("-s,--steps", o->rounds.steps, "Steps; 0: without end")
                      ->check(WholeNumber(0))
                      ->capture_default_str());
  group("Rounds", serve
                      .add_option("--max-clients", o->rounds.most_clients,
                                  "Most clients, if --clients does not name them")
                      ->check(WholeNumber(1))
                      ->capture_default_str());
  group("Rounds", serve
                      .add_option("--max-connected", o->rounds.most_connected,
                                  "Most clients at one time; others are told when to come back")
                      ->check(WholeNumber(1))
                      ->capture_default_str());
  group("Rounds", serve
                      .add_option("--retry-earliest", o->retry_earliest,
                                  "Seconds after which who finds no room may come back")
                      ->check(CLI::Range(0.001, 1e6))
                      ->capture_default_str());
  group("Rounds", serve
                      .add_option("--retry-latest", o->retry_latest,
                                  "Seconds after which they all should have")
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
                  const DeclaredRange range = ParseRange(text);
                  o->federation.ranges.push_back({range.column, range.range.low, range.range.high});
                }
              },
              "COLUMN=LOW:HIGH for each input; values outside are clipped")
          ->delimiter(','));
  group("Data", serve
                    .add_option("--norm", o->federation.norm,
                                "With --scaling norm: the largest norm of a sample's inputs")
                    ->check(CLI::PositiveNumber));
  group("Data", serve.add_option("-t,--target", o->federation.target, "The column to predict"));
  group("Data", serve.add_option("--target-range", o->target_range,
                                 "LOW:HIGH, scaled to [0, 1]; labels outside are clipped"));
  AddAlgorithmOptions(serve, o->federation.options);
  group("Algorithm",
        serve.add_option("-a,--algorithm", o->federation.algorithm,
                         "Algorithm (default: " + FederationConfiguration().algorithm + ")"));
  group("Algorithm", serve
                         .add_option("--horizon", o->federation.horizon,
                                     "T in rates of 1/sqrt(T) (default: the store's, else --steps, "
                                     "or 10000)")
                         ->check(WholeNumber(1)));
  group("Algorithm",
        serve.add_option("--seed", o->federation.seed, "Seed of everything random (default: 0)")
            ->check(WholeNumber(0)));
  serve.callback([o, &serve] {
    o->has_rounds = serve.count("--quorum") + serve.count("--deadline") > 0;
    Execute(*o);
  });
}

}  // namespace polykern
