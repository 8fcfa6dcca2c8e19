#include <optional>

#include <nlohmann/json.hpp>

#include "polykern/algorithms/registry.h"
#include "polykern/sim/result.h"
#include "polykern/sim/result_schema-inl.h"

namespace polykern {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

}  // namespace

Json OptionsJson(const Row& row, const ExperimentOptions& options) {
  const AlgorithmOptions& o = row.options;
  const char* loss = o.loss.kind == LossKind::kSquared ? "squared"
                     : o.loss.kind == LossKind::kHuber ? "huber"
                                                       : "logistic";
  return {{"dictionary", o.dictionary},
          {"kernels", o.kernels},
          {"orthogonal", o.orthogonal},
          {"shared_draws", o.shared_draws},
          {"budget", o.budget},
          {"exploration", ExplorationOf(row.algorithm, o)},
          {"learning_rate", OrNull(o.learning_rate)},
          {"weight_rate", OrNull(o.weight_rate)},
          {"schedule", o.schedule == Schedule::kConstant ? "constant" : "anytime"},
          {"regularization", o.regularization},
          {"loss", loss},
          {"huber_delta", o.loss.delta},
          {"single_bandwidth", o.single_bandwidth},
          {"hessian_free", o.hessian_free},
          {"inner_rate", o.inner_rate},
          {"meta_rate", o.meta_rate},
          {"projection_radius", o.projection_radius},
          {"weighting", NameOf(o.weighting)},
          {"ridge", o.ridge},
          {"forgetting", o.forgetting},
          {"refresh", o.refresh},
          {"server_memory", o.server_memory},
          {"experts", o.local_experts ? "federated,local" : "federated"},
          {"local_kernels", o.local_kernels},
          {"local_memory", OrNull(o.local_memory)},
          {"weights", options.carry_weights ? "carried" : "reset"},
          {"participation", options.participation},
          {"seed", options.seed}};
}

std::span<const OptionLabel> OptionLabels() {
  static constexpr OptionLabel kLabels[] = {{"weights", ""},
                                            {"exploration", "xi"},
                                            {"schedule", "schedule"},
                                            {"learning_rate", "learning rate"},
                                            {"weight_rate", "weight rate"},
                                            {"meta_rate", "meta rate"},
                                            {"inner_rate", "inner rate"},
                                            {"regularization", "regularization"},
                                            {"loss", "loss"},
                                            {"dictionary", "dictionary"},
                                            {"kernels", "kernels"},
                                            {"weighting", "weighting"},
                                            {"ridge", "ridge"},
                                            {"forgetting", "forgetting"},
                                            {"refresh", "refresh"},
                                            {"experts", "experts"},
                                            {"budget", "budget"},
                                            {"participation", "participation"},
                                            {"seed", "seed"}};
  return kLabels;
}

}  // namespace polykern
