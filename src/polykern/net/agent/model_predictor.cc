#include "polykern/net/agent/model_predictor.h"

#include <string>

#include "polykern/core/error.h"
#include "polykern/net/agent/agent_rounds_internal.h"
#include "polykern/net/agent/frozen_expert.h"
#include "polykern/net/configuration_texts.h"

namespace polykern {
namespace {

AgentState StateFor(const ExportedModel& model, const std::optional<AgentState>& own) {
  AgentState state = own.value_or(AgentState());
  if (own) {
    const std::string difference = DifferencesButEpoch(own->configuration, model.configuration);
    if (!difference.empty()) {
      throw Error("the state is of an agent of another federation than the model (" + difference +
                  "); use one of the same, or leave out " + OptionName("state"));
    }
  } else {
    const auto algorithm = MakeClientAlgorithm(FromTexts(model.configuration));
    state.private_state = StartingState(*algorithm, model.weights);
  }
  state.configuration = model.configuration;
  state.model = Encode(model.model);
  return state;
}

}  // namespace

class ModelPredictor::Impl {
 public:
  Impl(const ExportedModel& model, const std::optional<AgentState>& own)
      : rounds(StateFor(model, own), "the model") {}

  AgentRounds rounds;
};

ModelPredictor::ModelPredictor(const ExportedModel& model, const std::optional<AgentState>& own)
    : impl_(std::make_unique<Impl>(model, own)) {}

ModelPredictor::~ModelPredictor() = default;

const FederationConfiguration& ModelPredictor::configuration() const {
  return impl_->rounds.configuration();
}

const InputPosition& ModelPredictor::position() const {
  return impl_->rounds.position();
}

AgentPrediction ModelPredictor::Predict(std::span<const float> x) {
  return impl_->rounds.Predict(x);
}

}  // namespace polykern
