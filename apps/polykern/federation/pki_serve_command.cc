#include <csignal>
#include <iostream>
#include <memory>
#include <string>

#include "commands.h"
#include "console.h"
#include "federation/federation_options.h"
#include "options.h"
#include "polykern/core/version.h"
#include "polykern/net/server/renewal_server.h"
#include "polykern/net/server/server_log.h"
#include "polykern/results/text_table.h"
#include "service.h"

namespace polykern {
namespace {

struct PkiServeOptions {
  RenewalServerOptions server;
  std::string log = "-";
};

void ExecutePkiServe(const PkiServeOptions& o) {
  LeaveNoCoreFiles();
  Service service;
  const sigset_t endings = BlockEndings();
  ServerLog log({.text = o.log == "none" ? "" : o.log, .audit = {}});
  RenewalServer server(o.server,
                       [&log](const std::string& client, const std::string& event,
                              const std::string& detail) { log.Event(client, event, detail); });
  std::cout << "listening on " << server.address() << ": renews certificates of "
            << o.server.authority << '\n'
            << "it has the authority's key, so do not run it on the server's machine" << std::endl;
  service.Ready("listening on " + server.address());
  for (;;) {
    constexpr timespec kLook{0, 200'000'000};
    if (sigtimedwait(&endings, nullptr, &kLook) > 0) break;
    service.Alive(Count(server.renewed(), "certificate") + " renewed");
  }
  std::cout << "stopped: " << Count(server.renewed(), "certificate") << " renewed" << std::endl;
}

}  // namespace

void AddPkiServeCommand(CLI::App& pki) {
  auto o = std::make_shared<PkiServeOptions>();
  CLI::App& serve = *pki.add_subcommand(
      "serve",
      "Renew clients' certificates, until stopped: agents with --renew ask for a new one before "
      "theirs expires. It has "
      "the authority's key, so do not run it on the server's machine.\n"
      "Example: polykern pki serve --listen 0.0.0.0:7435 --host pki.example.org --valid 30d");
  AddConfigOption(serve);
  serve.add_option("--dir", o->server.authority, "The authority's folder")->capture_default_str();
  serve.add_option("--listen", o->server.listen, "HOST:PORT; port 0: any")->capture_default_str();
  serve
      .add_option("--host", o->server.hosts,
                  "Names and addresses under which agents reach it (default: localhost and this "
                  "machine's name)")
      ->delimiter(',');
  AddTimeOption(serve, "--valid", o->server.valid,
                "How long new certificates last, at most until the authority ends: 90s, 2m, 12h or "
                "30d (default: 30d)");
  serve.add_option("--log", o->log, "Log file for people; -: standard error; none")
      ->capture_default_str();
  serve.callback([o] { ExecutePkiServe(*o); });
}

}  // namespace polykern
