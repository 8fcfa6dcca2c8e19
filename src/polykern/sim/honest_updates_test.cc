// Bounds that keep out updates that ruin a model (algorithms/shared/gradient_bounds) keep out
// nobody who is honest: whole runs whose every update is checked.

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/data/recipes.h"
#include "polykern/data/source.h"
#include "polykern/sim/simulation.h"

namespace polykern {
namespace {

void RunChecked(const Stream& stream, std::string_view name, const AlgorithmOptions& options) {
  Problem problem{stream.dimension(), stream.steps(), 5};
  problem.unit_labels = true;
  const auto algorithm = MakeAlgorithm(name, options, problem);
  Workers workers(2);
  Clients clients(*algorithm, 0, stream.clients());
  Simulation simulation(*algorithm, stream, clients, workers, {});
  try {
    while (!simulation.done()) simulation.Step();
  } catch (const Error& refused) {
    ADD_FAILURE() << name << ", step " << simulation.step() << ": " << refused.what();
  }
}

void RunAll(const Stream& stream) {
  for (const std::string_view name : AlgorithmNames()) RunChecked(stream, name, {});
  for (const std::size_t per_upload : {5, 25, 51}) {
    AlgorithmOptions options;
    options.kernels_per_upload = per_upload;
    RunChecked(stream, "pof-mkl", options);
    options.exploration = 0.1;
    RunChecked(stream, "pof-mkl", options);
    options.schedule = Schedule::kAnytime;
    options.loss = LossKind::kHuber;
    RunChecked(stream, "pof-mkl", options);
  }
}

TEST(HonestUpdates, OfTheSyntheticFleetAreNotRefused) {
  SourceOptions options;
  options.clients = 12;
  options.steps = 120;
  RunAll(*OpenSource(options).stream);
}

TEST(LongHonestUpdates, OfAnyRecipeAreNotRefused) {
  const char* folder = std::getenv("POLYKERN_DATA");
  if (folder == nullptr) GTEST_SKIP() << "set POLYKERN_DATA to a folder that holds the recipes'";
  std::size_t ran = 0;
  for (const Recipe& recipe : Recipes()) {
    if (!std::filesystem::exists(std::filesystem::path(folder) / recipe.name)) continue;
    SourceOptions options;
    options.data = {recipe.name};
    options.data_dir = folder;
    options.clients = std::min<std::size_t>(recipe.clients, 60);
    RunAll(*OpenSource(options).stream);
    ++ran;
  }
  EXPECT_GT(ran, 0U);
}

}  // namespace
}  // namespace polykern
