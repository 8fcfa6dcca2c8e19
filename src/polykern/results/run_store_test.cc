#include "polykern/results/run_store.h"

#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>

#include <gtest/gtest.h>

#include "polykern/io/folder_testing.h"
#include "polykern/results/result.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;

class Runs : public testing::Test {
 protected:
  fs::path OnlyFile() const { return fs::directory_iterator(folder_.path())->path(); }

  std::string Text() const {
    std::ifstream file(OnlyFile());
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TestFolder folder_;
};

TEST_F(Runs, AreFoundByTheirSettingsAlone) {
  const RunStore store(folder_.path());
  std::string damaged;
  EXPECT_FALSE(store.Find("a", "{seed 1}", damaged));
  store.Keep("a", "{seed 1}", R"({ "mse" : 0.1 })");
  EXPECT_EQ(store.Find("a", "{seed 1}", damaged), R"({"mse":0.1})");
  EXPECT_FALSE(store.Find("a", "{seed 2}", damaged));
  EXPECT_EQ(damaged, "");
}

TEST_F(Runs, AreKeptWhileOthersRemoveTheEmptyFolder) {
  const RunStore store(folder_.At("runs"));
  const auto keep_and_forget = [&](const std::string& name) {
    for (int i = 0; i < 2000; ++i) {
      store.Keep(name, "{}", "{}");
      store.Forget(name, "{}");
    }
  };
  auto other = std::async(std::launch::async, keep_and_forget, "a");
  EXPECT_NO_THROW(keep_and_forget("b"));
  EXPECT_NO_THROW(other.get());
}

TEST_F(Runs, OfOtherSettingsAreNotTakenEvenUnderTheSameFileName) {
  const RunStore store(folder_.path());
  store.Keep("a", "one", "{}");
  const fs::path one = OnlyFile();
  store.Keep("a", "two", "{}");
  for (const auto& entry : fs::directory_iterator(folder_.path())) {
    if (entry.path() != one) fs::rename(entry.path(), one);
  }
  std::string damaged;
  EXPECT_FALSE(store.Find("a", "one", damaged));
  EXPECT_EQ(damaged, "");
}

TEST_F(Runs, ThatAreDamagedAnywhereCountAsNone) {
  const RunStore store(folder_.path());
  store.Keep("a", "s", R"({"mse":0.125})");
  const std::string whole = Text();
  std::string damaged;
  for (std::size_t length = 0; length + 2 < whole.size(); ++length) {  // the end: "}\n"
    std::ofstream(OnlyFile()) << whole.substr(0, length);
    damaged.clear();
    EXPECT_FALSE(store.Find("a", "s", damaged)) << length;
    EXPECT_EQ(damaged, OnlyFile().string()) << length;
  }
  std::string changed = whole;
  changed.replace(changed.find("0.125"), 5, "0.126");
  std::ofstream(OnlyFile()) << changed;
  EXPECT_FALSE(store.Find("a", "s", damaged));
  std::ofstream(OnlyFile()) << "[1, 2]";
  EXPECT_FALSE(store.Find("a", "s", damaged));
  store.Keep("a", "s", R"({"mse":0.125})");
  EXPECT_TRUE(store.Find("a", "s", damaged));
}

TEST_F(Runs, AreForgottenWithWhatAKilledProcessLeftOfThem) {
  const std::string inner = folder_.At("partial");
  const RunStore store(inner);
  store.Keep("a", "{}", "{}");
  store.Keep("b", "{}", "{}");
  const std::string file = fs::directory_iterator(inner)->path().filename();
  std::ofstream(inner + "/." + file + ".tmp4711") << "{";
  store.Forget("a", "{}");
  EXPECT_TRUE(fs::exists(inner));  // with b
  store.Forget("b", "{}");
  EXPECT_FALSE(fs::exists(inner));
}

TEST(RowSettings, TellEverySettingApartButNotTheThreads) {
  const Row row;
  const ExperimentOptions options;
  const std::string text = RowSettings(row, options);
  ExperimentOptions other = options;
  other.threads = 7;
  EXPECT_EQ(RowSettings(row, other), text);
  other.seed = 1;
  EXPECT_NE(RowSettings(row, other), text);
  other = options;
  other.repetitions = 3;
  EXPECT_NE(RowSettings(row, other), text);
  other = options;
  other.carry_weights = true;
  EXPECT_NE(RowSettings(row, other), text);
  for (const auto change : {+[](AlgorithmOptions& o) { o.kernels_per_upload = 2; },
                            +[](AlgorithmOptions& o) { o.features = 5; },
                            +[](AlgorithmOptions& o) { o.exploration = 0.3; },
                            +[](AlgorithmOptions& o) { o.meta_rate = 0.0447; },
                            +[](AlgorithmOptions& o) { o.regularization = 0; }}) {
    Row changed = row;
    change(changed.options);
    EXPECT_NE(RowSettings(changed, options), text);
  }
}

}  // namespace
}  // namespace polykern
