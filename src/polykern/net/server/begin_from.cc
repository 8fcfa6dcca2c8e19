#include "polykern/net/server/begin_from.h"

#include <span>

#include "polykern/algorithms/option_values.h"
#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/net/agent/frozen_expert.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/exported_model.h"
#include "polykern/net/rounds/release_opener.h"
#include "polykern/net/server/model_export.h"
#include "polykern/privacy/accounting.h"
#include "polykern/privacy/noise_terms.h"
#include "polykern/privacy/noisy_releases.h"

namespace polykern {
namespace {

/// Leaves of the federations before it so many.
ExportedModel WithEarlier(ExportedModel model, std::size_t most) {
  const auto from = model.configuration.find("from");
  if (from == model.configuration.end()) return model;
  if (most == 0) {
    model.configuration.erase(from);
  } else {
    from->second = ExportToText(WithEarlier(ExportFromText(from->second), most - 1));
  }
  return model;
}

/// By its noisy releases, and by those before it.
double RhoLost(const FederationConfiguration& federation, std::span<const double> state) {
  const auto algorithm = MakeAlgorithm(federation);
  const NoiseTerms terms = NoiseTermsOf(*algorithm, federation.samples_per_row());
  if (!terms.noisy()) return 0;
  NoisyReleases releases(terms);
  releases.Load(Split(state).opener);
  const double own = RhoSpent(terms.plan(), releases.sigma(), releases.size());
  if (federation.total_epsilon == 0) return own;
  return own + RhoFor(federation.total_epsilon, terms.delta) - RhoFor(terms.epsilon, terms.delta);
}

}  // namespace

EarlierFederation ReadEarlier(const StoreContents& store) {
  const ExportedModel model = ExportModel(store);
  EarlierFederation earlier{FromTexts(store.configuration), {}, 0};
  FederationConfiguration& settings = earlier.settings;
  earlier.rho = RhoLost(settings, store.newest->state);
  earlier.model = ExportToText(WithEarlier(model, kMostEarlierFederations - 1));
  if (settings.total_epsilon > 0) settings.options.epsilon = settings.total_epsilon;
  settings.total_epsilon = 0;
  settings.from.clear();
  settings.federation_id.clear();
  settings.epoch = settings.epoch_begin = 0;
  settings.clients.clear();
  return earlier;
}

void ChargeBudget(const EarlierFederation& earlier, FederationConfiguration& made) {
  if (earlier.rho == 0) return;
  const double delta = made.options.delta;
  const bool noisy = made.options.epsilon > 0 && UsesOption(made.algorithm, *FindOption("epsilon"));
  if (!noisy) {
    throw Error("its sums had noise, and the same rows may come again: " + OptionName("epsilon") +
                " is needed, for both federations together");
  }
  const double left = RhoFor(made.options.epsilon, delta) - earlier.rho;
  if (!(left > 0)) {
    throw Error("it has spent an epsilon of " + ExactText(EpsilonOf(earlier.rho, delta)) +
                ", and both together may spend " + ExactText(made.options.epsilon) +
                ": nothing is left; raise " + OptionName("epsilon"));
  }
  made.total_epsilon = made.options.epsilon;
  double& epsilon = made.options.epsilon;
  epsilon = EpsilonOf(left, delta);  // rounded upwards
  while (RhoFor(epsilon, delta) > left) epsilon *= 1 - 1e-9;
}

}  // namespace polykern
