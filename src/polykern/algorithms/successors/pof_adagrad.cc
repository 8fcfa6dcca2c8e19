#include "polykern/algorithms/successors/pof_adagrad.h"

#include <cmath>
#include <utility>

#include "polykern/algorithms/paper/pof_mkl.h"
#include "polykern/core/kernels.h"

namespace polykern {

std::unique_ptr<Algorithm> NewPofAdagrad(AlgorithmDefinition definition) {
  const KernelBank& bank = *definition.bank;
  // The first step of a theta_i then has the length c, whatever the number of features.
  const double rate = definition.options.learning_rate.value_or(1) /
                      std::sqrt(static_cast<double>(bank.feature_size()));
  ServerRule server;
  server.squares = bank.kernels() * bank.feature_size();
  server.apply = [rate](const StepSums& sums, ServerState& state) {
    for (std::size_t j = 0; j < state.model.size(); ++j) {
      const double gradient = sums.values[j] / sums.participants;
      if (gradient == 0) continue;  // no client sent this kernel, and its square may still be 0
      state.squares[j] += gradient * gradient;
      state.model[j] -= rate * gradient / std::sqrt(state.squares[j]);
    }
  };
  return NewPofMkl(std::move(definition),
                   {"pof-adagrad", Rate{1}, std::nullopt, std::move(server)});
}

}  // namespace polykern
