#include "polykern/sim/kept_repetitions.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;

Repetition KeptRun(double mse) {
  Repetition run;
  run.finished = true;
  run.mse = mse;
  return run;
}

TEST(KeptRepetitions, AreFoundByRowRepetitionOptionsAndData) {
  const TestFolder folder;
  const RunStore store(folder.At("partial"));
  ExperimentOptions options;
  const std::string data = "fleet";
  const KeptRepetitions kept(&store, data, options);
  Row row;
  Row other;
  other.options.exploration = 0.25;
  kept.Keep(row, 0, KeptRun(0.1));
  kept.Keep(row, 1, KeptRun(0.2));
  kept.Keep(other, 0, KeptRun(0.3));
  EXPECT_EQ(kept.Find(row, 0)->mse, 0.1);
  EXPECT_EQ(kept.Find(row, 1)->mse, 0.2);
  EXPECT_EQ(kept.Find(other, 0)->mse, 0.3);
  EXPECT_FALSE(kept.Find(row, 2));
  EXPECT_FALSE(kept.Find(other, 1));
  ExperimentOptions other_seed = options;
  other_seed.seed = 1;
  EXPECT_FALSE(KeptRepetitions(&store, data, other_seed).Find(row, 0));
  const std::string other_data = "another fleet";
  EXPECT_FALSE(KeptRepetitions(&store, other_data, options).Find(row, 0));
}

TEST(KeptRepetitions, AreForgottenRowByRow) {
  const TestFolder folder;
  const RunStore store(folder.At("partial"));
  ExperimentOptions options;
  options.repetitions = 2;
  const std::string data = "fleet";
  const KeptRepetitions kept(&store, data, options);
  Row row;
  Row other;
  other.algorithm = "ofskl";
  for (std::size_t repetition = 0; repetition < 2; ++repetition) {
    kept.Keep(row, repetition, KeptRun(0.1));
    kept.Keep(other, repetition, KeptRun(0.2));
  }
  kept.Forget(row);
  EXPECT_FALSE(kept.Find(row, 0) || kept.Find(row, 1));
  EXPECT_TRUE(kept.Find(other, 0) && kept.Find(other, 1));
  kept.Forget(other);
  EXPECT_FALSE(fs::exists(folder.At("partial")));
}

TEST(KeptRepetitions, ThatAreDamagedAreNone) {
  const TestFolder folder;
  const RunStore store(folder.path());
  const ExperimentOptions options;
  const std::string data = "fleet";
  const KeptRepetitions kept(&store, data, options);
  kept.Keep({}, 0, KeptRun(0.1));
  ASSERT_TRUE(kept.Find({}, 0));
  std::ofstream(fs::directory_iterator(folder.path())->path()) << "half";
  EXPECT_FALSE(kept.Find({}, 0));
}

TEST(KeptRepetitions, AreNowhereWithoutAStore) {
  const ExperimentOptions options;
  const std::string data;
  const KeptRepetitions kept(nullptr, data, options);
  kept.Keep({}, 0, KeptRun(0.1));
  EXPECT_FALSE(kept.Find({}, 0));
  kept.Forget({});
}

}  // namespace
}  // namespace polykern
