#include <algorithm>
#include <csignal>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "commands.h"
#include "config_file.h"
#include "console.h"
#include "federation/configured.h"
#include "federation/serve_options.h"
#include "federation/serve_report.h"
#include "polykern/core/error.h"
#include "polykern/io/files.h"
#include "polykern/net/pki/authority_folder.h"
#include "polykern/net/server/control.h"
#include "polykern/net/server/declared_federation.h"
#include "polykern/net/server/hosted_server.h"
#include "polykern/results/text_table.h"
#include "report_files.h"
#include "service.h"

namespace polykern {
namespace {

/// What this process was started with.
std::vector<std::string> OwnArguments() {
  std::istringstream words(ReadWholeFile("/proc/self/cmdline"));
  std::vector<std::string> arguments;
  for (std::string word; std::getline(words, word, '\0');) arguments.push_back(word);
  if (!arguments.empty()) arguments.erase(arguments.begin());
  return arguments;
}

/// The same command line once more, with what its configuration file says now. Throws Error.
ServeOptions ReadAgain(const std::vector<std::string>& arguments) {
  CLI::App program;
  program.name("polykern");
  auto o = std::make_shared<ServeOptions>();
  AddServeOptions(program, o);
  std::vector<std::string> expanded = ExpandConfigFile(program, arguments).all;
  std::ranges::reverse(expanded);  // CLI11 wants the last one first
  try {
    program.parse(expanded);
  } catch (const CLI::ParseError& error) {
    throw Error(error.what());
  }
  CompleteServeOptions(*o);
  return *o;
}

/// Changes nothing if anything is wrong with it.
void Reload(HostedServer& server, const std::vector<std::string>& arguments) {
  try {
    server.Change(ReadAgain(arguments).hosted.rounds);
  } catch (const Error& error) {
    server.log().Event("", "unchanged", error.Spelled(ShellSpelling));
  }
}

/// With a configuration file SIGHUP means that it has changed; else what it always means.
sigset_t BlockSignals(bool reloads) {
  sigset_t signals = BlockEndings();
  if (!reloads) return signals;
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

WebPage PageOfThisProgram() {
  const LivePage page = FederationPage();
  if (page.html.empty()) {
    throw Error(OptionName("web") + ": there is no page, because when this program was built " +
                std::string(WhyNoPage()) + ", and build again (scripts/run does)");
  }
  return {page.html, page.script, page.style};
}

void Execute(ServeOptions o) {
  LeaveNoCoreFiles();
  Service service;
  o.hosted.server.keys = CredentialsWith("server.key");
  const std::vector<std::string> arguments = OwnArguments();
  const sigset_t signals = BlockSignals(std::ranges::any_of(
      arguments, [](const std::string& word) { return word.starts_with("--config"); }));
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is like a full disk

  const auto hosted = Configured([&o] {
    CompleteServeOptions(o);
    if (!o.hosted.web.listen.empty()) o.hosted.web.page = PageOfThisProgram();
    o.hosted.control = ControlPath(o.hosted.store);
    o.federation.clients = o.hosted.rounds.roster;
    o.hosted.federation = CompleteForStore(o.federation, o.hosted.store, o.hosted.rounds.steps);
    return std::make_unique<HostedServer>(o.hosted);
  });
  HostedServer& server = *hosted;
  if (!o.hosted.server.insecure) {
    const AuthorityPaths paths(o.hosted.server.certificates, o.hosted.server.keys);
    WarnOfOpenKeys({paths.server_key, paths.key});
    if (!o.hosted.web.token.empty()) WarnOfOpenKeys({o.hosted.web.token});
  }
  const std::string& algorithm = o.hosted.federation.algorithm;
  for (const std::string& key : OptionsWithoutEffect(o.federation, algorithm)) {
    std::cerr << "polykern: " << ShellSpelling(key) << " has no effect with " << algorithm << '\n';
  }
  Announce(server, o.hosted);
  service.Ready(ServiceStatus(server.View()));
  std::string told;
  Watch watch;
  bool ended = false;
  for (;;) {
    constexpr timespec kLook{0, 200'000'000};
    const int signal = sigtimedwait(&signals, nullptr, &kLook);
    if (signal == SIGHUP) Reload(server, arguments);
    if (signal > 0 && signal != SIGHUP) break;
    const ServerView view = server.View();
    const RoundsStatus& status = view.rounds;
    if (status.failure) throw *status.failure;
    service.Alive(ServiceStatus(view));
    watch.Look(status, server.log());
    if (view.trouble != told) {
      server.log().Event("", view.trouble.empty() ? "recovered" : "trouble", view.trouble);
      if (o.hosted.log.text != "-") {
        std::cerr << "polykern: " << (view.trouble.empty() ? "it works again" : view.trouble)
                  << std::endl;
      }
    }
    told = view.trouble;
    if (status.finished && !ended) {
      std::cout << "finished after " << Count(status.step, "step")
                << "; clients can still fetch the model" << std::endl;
      server.log().Event("", "finished", "after " + Count(status.step, "step"));
      ended = true;
    }
  }
  Conclude(server);
}

}  // namespace

void AddServeCommand(CLI::App& program) {
  auto o = std::make_shared<ServeOptions>();
  CLI::App& serve = AddServeOptions(program, o);
  serve.callback([o, &serve] {
    o->has_rounds = serve.count("--quorum") + serve.count("--deadline") > 0;
    o->has_max_connected = serve.count("--max-connected") > 0;
    Execute(*o);
  });
}

}  // namespace polykern
