#include "polykern/net/server/new_epoch.h"

#include <array>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/core/error.h"
#include "polykern/net/configuration.h"
#include "polykern/net/configuration_texts.h"

namespace polykern {

std::uint64_t BeginEpoch(Store& store) {
  const StoreContents contents = store.Contents();
  FederationConfiguration federation = FromTexts(contents.configuration);
  if (federation.options.masking == Masking::kNone) {
    throw Error("nothing is masked in this federation, so there are no epochs");
  }
  if (federation.options.epsilon > 0) {
    throw Error(
        "noise is planned over all releases of a federation, so its epoch does not end: start with "
        "a new store");
  }
  const auto algorithm = MakeAlgorithm(federation, contents.clients.size());
  const std::unique_ptr<Server> server = algorithm->NewServer();
  const std::uint64_t steps = contents.newest ? contents.newest->steps : 0;
  if (contents.newest) server->Load(steps, contents.newest->state);
  server->BeginEpoch();
  ++federation.epoch;
  federation.epoch_begin = steps;
  const StoreConfiguration texts = ToTexts(federation);
  const std::vector<double> state = server->Save();
  const std::array events = {StoredEvent{
      std::time(nullptr), "", "epoch",
      "epoch " + std::to_string(federation.epoch) + " begins at step " + std::to_string(steps)}};
  StoreBatch batch{.configuration = &texts, .events = events};
  if (contents.newest) batch.step = StepCommit{steps, state, {}};
  store.Write(batch);
  return federation.epoch;
}

}  // namespace polykern
