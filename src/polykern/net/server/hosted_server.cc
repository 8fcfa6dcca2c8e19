#include "polykern/net/server/hosted_server.h"

#include "polykern/algorithms/registry.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/store/open_store.h"

namespace polykern {
namespace {

RoundsOptions WithObserver(RoundsOptions options, RoundsObserver& observer) {
  options.observer = &observer;
  return options;
}

}  // namespace

HostedServer::HostedServer(const HostedServerOptions& options)
    : options_(options),
      began_(std::chrono::steady_clock::now()),
      algorithm_(MakeAlgorithm(options.federation, options.rounds.roster.size())),
      store_((CheckListen(options.server), OpenStore(options.store, ToTexts(options.federation)))),
      log_(options.log),
      rounds_(*algorithm_, *store_, WithObserver(options.rounds, log_)),
      server_(options.server, algorithm_->shape(), rounds_) {
  if (!options.metrics.empty()) metrics_.emplace(options.metrics, [this] { return View(); });
}

ServerView HostedServer::View() const {
  ServerView view;
  view.algorithm = options_.federation.algorithm;
  view.version = options_.version;
  view.uptime_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  view.rounds = rounds_.status();
  view.traffic = server_.traffic();
  view.step_times = log_.step_times();
  view.log_events_lost = log_.lost();
  if (view.rounds.failure) {
    view.trouble = view.rounds.failure->Spelled(options_.spelling);
  } else {
    view.trouble = !view.rounds.trouble.empty() ? view.rounds.trouble : server_.trouble();
  }
  return view;
}

}  // namespace polykern
