#include "polykern/net/configuration.h"

#include <string>

#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"

namespace polykern {
namespace {

constexpr std::size_t kMostDimension = 1'000'000;

}  // namespace

std::unique_ptr<Algorithm> MakeAlgorithm(const FederationConfiguration& configuration,
                                         std::size_t clients) {
  Problem problem = configuration.problem;
  if (problem.dimension == 0 || problem.dimension > kMostDimension || problem.horizon == 0) {
    throw Error("a federation needs between 1 and " + std::to_string(kMostDimension) +
                " inputs and a horizon of at least 1");
  }
  problem.seed = RepetitionSeed(problem.seed);
  problem.clients = clients;
  problem.unit_labels = configuration.ScalesLabels();
  return MakeAlgorithm(configuration.algorithm, configuration.options, problem);
}

}  // namespace polykern
