#include "polykern/net/server/hosted_server.h"

#include <algorithm>
#include <utility>

#include "polykern/algorithms/registry.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/front/postgresql_front.h"
#include "polykern/net/helper/helper_opener.h"
#include "polykern/net/rounds/front.h"
#include "polykern/net/rounds/server_noise.h"
#include "polykern/net/server/control.h"
#include "polykern/net/server/pairwise_opener.h"
#include "polykern/net/store_kinds/open_store.h"
#include "polykern/privacy/noise_terms.h"

namespace polykern {
namespace {

RoundsOptions With(RoundsOptions options, RoundsObserver& observer, ReleaseOpener* opener,
                   Front* front) {
  options.observer = &observer;
  options.opener = opener;
  options.front = front;
  return options;
}

/// Why a federation has one server, also where others could reach its store; empty: it may have
/// any number of front ends.
std::string WhyAlone(const HostedServerOptions& options) {
  const FederationConfiguration& federation = options.federation;
  if (TraitsOf(federation.algorithm).needs_single_messages) {
    return federation.algorithm +
           " needs each client's own message, so its federations have one front end";
  }
  if (federation.learn_ranges > 0) return "there is one front end until ranges are learnt";
  if (federation.options.masking == Masking::kPairwise) {
    return "federations with pairwise masks have one front end";
  }
  return {};
}

std::uint64_t FrontNumber(const HostedServerOptions& options) {
  if (!FrontPlace(options.store) || !WhyAlone(options).empty()) return 0;
  return NewFrontNumber();
}

std::unique_ptr<Store> OpenFor(const HostedServerOptions& options, std::uint64_t front) {
  const StoreConfiguration texts = ToTexts(options.federation);
  if (front != 0) {
    return JoinFronts({.place = *FrontPlace(options.store), .number = front}, texts);
  }
  try {
    return OpenStore(options.store, texts);
  } catch (const StoreInUse& error) {
    const std::string why = FrontPlace(options.store) ? WhyAlone(options) : "";
    throw Error(error.marked() + (why.empty() ? "" : ": " + why));
  }
}

std::unique_ptr<StepEnder> NewEnder(const HostedServerOptions& options, std::uint64_t front,
                                    const Algorithm& algorithm, const RoundsOptions& rounds) {
  if (front == 0) return nullptr;
  return std::make_unique<StepEnder>(
      StepEnderOptions{.place = *FrontPlace(options.store), .front = front}, algorithm, rounds);
}

/// What follows from the federation need not be said again: its clients, how many must be in a sum,
/// and that masks which cancel over all clients need all of them.
HostedServerOptions Named(HostedServerOptions options) {
  RoundsOptions& rounds = options.rounds;
  if (!options.federation.clients.empty()) rounds.roster = options.federation.clients;
  rounds.least_clients =
      std::max<std::uint64_t>(rounds.least_clients, options.federation.options.least_clients);
  if (options.federation.options.masking == Masking::kPairwise && rounds.quorum == Quorum{}) {
    rounds.quorum = Quorum::All();
  }
  return options;
}

NoiseTerms TermsOf(const HostedServerOptions& options, const Algorithm& algorithm) {
  return NoiseTermsOf(algorithm, options.federation.samples_per_row());
}

bool IsMasked(const HostedServerOptions& options) {
  return options.federation.options.masking != Masking::kNone;
}

/// Masks that cancel over all clients need all of them, each in the same step.
void CheckPairs(const HostedServerOptions& options) {
  const std::string pairwise = OptionName("masking", "pairwise");
  if (!options.helper.empty()) {
    throw Error(OptionName("helper") + " has no effect with " + pairwise + ": leave it out");
  }
  if (options.rounds.use_late) {
    throw Error(OptionName("stale", "accept") + " cannot be combined with " + pairwise +
                ": a sum needs every client's answer to the same step; leave it out");
  }
  if (!options.rounds.quorum.all() &&
      options.rounds.quorum.count != options.federation.clients.size()) {
    throw Error(pairwise + " needs " + OptionName("quorum", "all") +
                ": masks cannot be removed while a client is missing");
  }
}

/// Before a store is made: visitors must be identified, and cannot be overheard.
void CheckWeb(const HostedServerOptions& options) {
  if (options.web.listen.empty()) {
    for (const auto& [given, name] : {std::pair(!options.web.token.empty(), "web_token"),
                                      std::pair(!options.web.viewers.empty(), "web_viewers")}) {
      if (given) {
        throw Error(OptionName(name) + " has no effect without " + OptionName("web") +
                    ": add it, or leave this out");
      }
    }
  } else if (options.server.insecure) {
    throw Error(OptionName("web") + " needs certificates: leave out " + OptionName("insecure") +
                " (polykern pki init makes them)");
  }
}

/// Before a store is made.
void CheckPrivacy(const HostedServerOptions& options, const NoiseTerms& noise) {
  if (noise.noisy()) {
    static_cast<void>(noise.Sigma());  // complains now, if at all
    if (options.rounds.asynchronous) {
      throw Error(OptionName("mode", "async") + " cannot be combined with " +
                  OptionName("epsilon") + ": noise is planned for rounds; leave it out");
    }
  }
  if (!IsMasked(options)) {
    if (options.helper.empty()) return;
    throw Error(OptionName("helper") + " has no effect: nothing is masked; add " +
                OptionName("masking", "helper") + " to a new store, or leave it out");
  }
  if (options.server.insecure) {
    throw Error(OptionName("masking") + " needs certificates: leave out " + OptionName("insecure"));
  }
  if (options.rounds.asynchronous) {
    throw Error(OptionName("mode", "async") + " cannot be combined with " + OptionName("masking") +
                ": sums of a few updates at a time would hide little; leave it out, or use " +
                OptionName("stale", "accept"));
  }
  if (options.federation.options.masking == Masking::kPairwise) {
    CheckPairs(options);
  } else if (options.helper.empty()) {
    throw Error(OptionName("masking", "helper") + " needs " + OptionName("helper", "HOST:PORT") +
                ", where `polykern helper` listens");
  }
}

/// Who takes masks off, or adds noise; null: there is neither.
std::unique_ptr<ReleaseOpener> NewOpener(const HostedServerOptions& options,
                                         const ModelShape& shape, const NoiseTerms& noise) {
  if (!IsMasked(options)) {
    if (!noise.noisy()) return nullptr;
    return std::make_unique<ServerNoise>(noise);
  }
  if (options.federation.options.masking == Masking::kPairwise) {
    return std::make_unique<PairwiseOpener>(options.server.certificates,
                                            options.federation.clients);
  }
  const HelperLinkOptions link{
      .helper = options.helper,
      .certificates = options.server.certificates,
      .keys = options.server.keys,
      .federation = options.federation.federation_id,
      .epoch = options.federation.epoch,
      .noise = noise,
      .most_numbers = *std::ranges::max_element(shape.sums),
      .keepalive = options.server.keepalive,
  };
  return std::make_unique<HelperOpener>(link, shape.ring);
}

}  // namespace

HostedServer::HostedServer(const HostedServerOptions& options)
    : options_(Named(options)),
      began_(std::chrono::steady_clock::now()),
      algorithm_(MakeAlgorithm(options.federation, options_.rounds.roster.size())),
      front_number_(FrontNumber(options)),
      store_((CheckListen(options.server), CheckWeb(options),
              CheckPrivacy(options_, TermsOf(options, *algorithm_)),
              OpenFor(options, front_number_))),
      log_(options.log),
      opener_(NewOpener(options, algorithm_->shape(), TermsOf(options, *algorithm_))),
      rounds_(*algorithm_, *store_,
              With(options_.rounds, log_, opener_.get(), dynamic_cast<Front*>(store_.get()))),
      ender_(NewEnder(options, front_number_, *algorithm_,
                      With(options_.rounds, log_, opener_.get(), nullptr))),
      server_(options.server, algorithm_->shape(), rounds_) {
  rounds_.SetAddress(server_.address());
  if (!options.metrics.empty()) metrics_.emplace(options.metrics, [this] { return View(); });
  if (!options.web.listen.empty()) {
    web_.emplace(options.web, options.server.certificates, options.server.keys,
                 WebServer::Look{[this] { return View(); }, [this] { return rounds_.Clients(); }},
                 [this](const std::string& line) { log_.Event("", "web", line); });
  }
  if (options.control.empty()) return;
  control_.emplace(options.control, [this](const HttpHead& request, const HttpPeer&) {
    return AnswerControl(request, rounds_);
  });
}

/// The rounds' thread may be waiting for the helper.
HostedServer::~HostedServer() {
  if (opener_ != nullptr) opener_->Stop();
}

void HostedServer::Change(const RoundsOptions& options) {
  HostedServerOptions changed = options_;
  changed.rounds = options;
  changed = Named(std::move(changed));
  rounds_.Change(changed.rounds, std::chrono::steady_clock::now());
  if (ender_ != nullptr) ender_->Change(changed.rounds);
}

ServerView HostedServer::View() const {
  ServerView view;
  view.algorithm = options_.federation.algorithm;
  view.version = options_.version;
  view.uptime_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  view.rounds = rounds_.status();
  if (ender_ != nullptr) {
    if (!view.rounds.failure) view.rounds.failure = ender_->failure();
    if (view.rounds.trouble.empty()) view.rounds.trouble = ender_->trouble();
  }
  view.traffic = server_.traffic();
  view.certificate_expires = server_.expires();
  view.step_times = log_.step_times();
  view.log_events_lost = log_.lost();
  if (opener_ != nullptr) view.opener = opener_->status();
  if (view.rounds.failure) {
    view.trouble = view.rounds.failure->Spelled(options_.spelling);
  } else {
    view.trouble = !view.rounds.trouble.empty() ? view.rounds.trouble : server_.trouble();
    if (view.trouble.empty()) view.trouble = view.opener.trouble;
    view.trouble = Error(view.trouble).Spelled(options_.spelling);
  }
  return view;
}

}  // namespace polykern
