#include "polykern/net/server/model_export.h"

#include <numeric>
#include <span>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/federation/coordinator.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/rounds/release_opener.h"
#include "polykern/privacy/noise_terms.h"

namespace polykern {

ExportedModel ExportModel(const StoreContents& store) {
  if (!store.newest) throw Error("no step is committed yet, so there is no model");
  const FederationConfiguration federation = FromTexts(store.configuration);
  const auto algorithm = MakeAlgorithm(federation);
  const bool noisy = NoiseTermsOf(*algorithm, federation.samples_per_row()).noisy();
  const std::span<const double> state = store.newest->state;
  Coordinator coordinator(*algorithm, 0);
  coordinator.Load(store.newest->steps, noisy ? Split(state).model : state);
  std::vector<std::uint32_t> all(algorithm->shape().blocks);
  std::iota(all.begin(), all.end(), 0U);
  ExportedModel model{ToTexts(federation),
                      TakeBlocks(algorithm->shape(), coordinator.broadcast(), std::move(all)),
                      coordinator.MeanWeights()};
  model.model.turn.clear();  // no client answers it
  return model;
}

}  // namespace polykern
