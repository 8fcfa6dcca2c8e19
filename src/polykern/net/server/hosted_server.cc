#include "polykern/net/server/hosted_server.h"

#include <algorithm>

#include "polykern/algorithms/registry.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/store/open_store.h"

namespace polykern {
namespace {

RoundsOptions With(RoundsOptions options, RoundsObserver& observer, ReleaseOpener* opener) {
  options.observer = &observer;
  options.opener = opener;
  return options;
}

bool IsMasked(const HostedServerOptions& options) {
  return options.federation.options.masking != Masking::kNone;
}

/// Before a store is made.
void CheckMasking(const HostedServerOptions& options) {
  if (!IsMasked(options)) {
    if (options.helper.empty()) return;
    throw Error(OptionName("helper") + " has no effect: nothing is masked; add " +
                OptionName("masking", "helper") + " to a new store, or leave it out");
  }
  if (options.server.insecure) {
    throw Error(OptionName("masking") + " needs certificates: leave out " + OptionName("insecure"));
  }
  if (options.rounds.asynchronous) {
    throw Error(OptionName("mode", "async") + " does not go with " + OptionName("masking") +
                ": sums of a few updates at a time would hide little; leave it out, or use " +
                OptionName("stale", "accept"));
  }
  if (options.helper.empty()) {
    throw Error(OptionName("masking", "helper") + " needs " + OptionName("helper", "HOST:PORT") +
                ", where `polykern helper` listens");
  }
}

/// Who takes masks off; null: there are none.
std::unique_ptr<HelperOpener> NewOpener(const HostedServerOptions& options,
                                        const ModelShape& shape) {
  if (!IsMasked(options)) return nullptr;
  const HelperLinkOptions link{
      .helper = options.helper,
      .certificates = options.server.certificates,
      .federation = options.federation.federation_id,
      .epoch = options.federation.epoch,
      .most_numbers = *std::ranges::max_element(shape.sums),
      .keepalive = options.server.keepalive,
  };
  return std::make_unique<HelperOpener>(link, shape.ring);
}

}  // namespace

HostedServer::HostedServer(const HostedServerOptions& options)
    : options_(options),
      began_(std::chrono::steady_clock::now()),
      algorithm_(MakeAlgorithm(options.federation, options.rounds.roster.size())),
      store_((CheckListen(options.server), CheckMasking(options),
              OpenStore(options.store, ToTexts(options.federation)))),
      log_(options.log),
      opener_(NewOpener(options, algorithm_->shape())),
      rounds_(*algorithm_, *store_, With(options.rounds, log_, opener_.get())),
      server_(options.server, algorithm_->shape(), rounds_) {
  if (!options.metrics.empty()) metrics_.emplace(options.metrics, [this] { return View(); });
}

/// The rounds' thread may be waiting for the helper.
HostedServer::~HostedServer() {
  if (opener_ != nullptr) opener_->Stop();
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
    if (view.trouble.empty() && opener_ != nullptr) view.trouble = opener_->trouble();
  }
  return view;
}

}  // namespace polykern
