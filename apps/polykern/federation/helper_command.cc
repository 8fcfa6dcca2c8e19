#include <csignal>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "commands.h"
#include "console.h"
#include "federation/client_names.h"
#include "federation/configured.h"
#include "federation/federation_options.h"
#include "options.h"
#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/io/files.h"
#include "polykern/net/helper/helper_server.h"
#include "polykern/net/pki/certificates.h"
#include "polykern/net/server/server_log.h"
#include "polykern/results/text_table.h"
#include "service.h"

namespace polykern {
namespace {

/// Everything `polykern helper` can be told.
struct HelperCommandOptions {
  HelperServerOptions server;
  std::vector<std::string> clients;  ///< names, or @FILE
  std::string log = "-";
  double keepalive = 10;  ///< seconds
};

std::set<std::string> ReadClients(const std::vector<std::string>& texts) {
  const std::vector<std::string> names = ReadClientNames(texts, OptionName("clients"));
  if (names.empty()) throw Error(OptionName("clients") + " names no client");
  return {names.begin(), names.end()};
}

void CheckLeastClients(const HelperRules& rules) {
  if (rules.least_clients <= rules.clients.size()) return;
  throw Error(OptionName("least_clients", std::to_string(rules.least_clients)) +
              " is more than the number of clients given: nothing would ever be released");
}

void ExecuteHelper(HelperCommandOptions o) {
  LeaveNoCoreFiles();
  Service service;
  o.server.keys = CredentialsWith("helper.key");
  o.server.keepalive = Milliseconds(o.keepalive);
  const sigset_t endings = BlockEndings();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is like a full disk

  ServerLog log({.text = o.log == "none" ? "" : o.log, .audit = {}});
  const auto served = Configured([&] {
    o.server.rules.clients = ReadClients(o.clients);
    CheckLeastClients(o.server.rules);
    return std::make_unique<HelperServer>(
        o.server, [&log](const std::string& event, const std::string& detail) {
          log.Event("helper", event, detail);
        });
  });
  HelperServer& helper = *served;
  std::cout
      << "listening on " << helper.address() << ": " << helper.name() << ", helper of "
      << Count(o.server.rules.clients.size(), "client") << (o.server.insecure ? ", INSECURE" : "")
      << '\n'
      << "it sees names, times, counts and sets of clients, never data; each sum has at least "
      << Count(o.server.rules.least_clients, "client") << " and " << o.server.rules.least_samples
      << " samples besides those of the client with the most" << std::endl;
  service.Ready("listening on " + helper.address());
  std::string told;
  for (;;) {
    constexpr timespec kLook{0, 200'000'000};
    if (sigtimedwait(&endings, nullptr, &kLook) > 0) break;
    if (const auto failure = helper.failure()) throw *failure;
    const std::string trouble = helper.trouble();
    service.Alive(trouble.empty() ? Count(helper.counts().answered, "release") + " answered"
                                  : trouble);
    if (trouble != told) log.Event("helper", trouble.empty() ? "recovered" : "trouble", trouble);
    told = trouble;
  }
  const HelperCounts counts = helper.counts();
  std::cout << "stopped: " << Count(counts.answered, "release") << " answered, " << counts.repeated
            << " answered again, " << counts.refused << " refused" << std::endl;
}

}  // namespace

void AddHelperCommand(CLI::App& program) {
  auto o = std::make_shared<HelperCommandOptions>();
  CLI::App& helper = *program.add_subcommand(
      "helper",
      "Run the helper of a federation's masked sums, until stopped: the server sees only sums that "
      "the helper agrees to. Someone other than the server's operator should run it.\n"
      "Example: polykern helper --listen 0.0.0.0:7434 --certificates helper --clients "
      "@clients.txt");
  AddConfigOption(helper);
  helper.add_option("--listen", o->server.listen, "HOST:PORT; port 0: any")->capture_default_str();
  helper
      .add_option("--certificates", o->server.certificates,
                  "The helper's own folder (polykern pki helper)")
      ->capture_default_str();
  helper.add_option("--store", o->server.log, "File that remembers what it has answered")
      ->capture_default_str();
  helper
      .add_option("--clients", o->clients,
                  "The only clients whose messages it unmasks: names, or @FILE with one on a line")
      ->delimiter(',')
      ->required();
  helper
      .add_option("--least-clients", o->server.rules.least_clients,
                  "Fewest clients in a sum that it unmasks")
      ->check(WholeNumber(2))
      ->capture_default_str();
  helper
      .add_option("--disclosure", o->server.rules.disclosure,
                  "Most numbers that it unmasks per unknown of their "
                  "samples; the server's --disclosure, or more")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  helper
      .add_option("--epsilon", o->server.rules.most_epsilon,
                  "Unmask only sums with noise, of at most this epsilon (default: as the "
                  "federation's first release promises, with noise or without)")
      ->check(CLI::PositiveNumber);
  helper.add_option("--delta", o->server.rules.most_delta, "With --epsilon: the largest delta")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  helper.add_flag("--insecure", o->server.insecure,
                  "No certificates, on the loopback only: for trials");
  helper.add_option("--log", o->log, "Log file for people; -: standard error; none")
      ->capture_default_str();
  AddKeepaliveOption(helper, o->keepalive);
  helper.callback([o] { ExecuteHelper(*o); });
}

}  // namespace polykern
