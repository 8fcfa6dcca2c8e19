#include "polykern/paper/beyond.h"

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/registry.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Runs with an error of their own for each algorithm and data set.
std::vector<BeyondRun> MadeUp() {
  std::vector<BeyondRun> all;
  for (const std::string data : {"naval", "air"}) {
    const auto runs = BeyondRuns(data, [&](const Row& row, bool carried) {
      EXPECT_FALSE(carried);
      PaperRun run;
      run.steps = 500;
      run.repetitions = 20;
      run.microseconds_per_sample = 2;
      run.mse = {1e-3 * static_cast<double>(row.algorithm.size() + data.size()), 0.5e-3};
      run.diverged = row.algorithm == "fed-poe" && data == "air";
      return run;
    });
    all.insert(all.end(), runs.begin(), runs.end());
  }
  return all;
}

TEST(Beyond, WantsRunsThatCanBeMade) {
  std::vector<std::string> names;
  for (const WantedRun& wanted : BeyondWanted()) {
    names.push_back(wanted.row.algorithm);
    EXPECT_NO_THROW(CheckAlgorithm(wanted.row.algorithm, wanted.row.options));
    EXPECT_EQ(wanted.row.options.budget, 1000U);
  }
  EXPECT_THAT(names, ElementsAre("local-rls", "fed-poe", "pof-adagrad", "pof-newton", "pof-gram"));
}

TEST(Beyond, HasARowForAnAlgorithmAndAColumnForADataSet) {
  const std::string text = ReadableBeyond(MadeUp(), true);
  EXPECT_THAT(text, HasSubstr("## Beyond the paper\n\n"
                              "| MSE x 1e-3 | the server needs | naval | air |\n"));
  EXPECT_THAT(text, HasSubstr("\n| local-rls | nothing | 14.00 +- 0.50 | 12.00 +- 0.50 |\n"));
  EXPECT_THAT(text, HasSubstr("\n| fed-poe | sums | 12.00 +- 0.50 | 10.00 +- 0.50 (diverged) |\n"));
  EXPECT_THAT(text, HasSubstr("\n| pof-newton | every message | "));
  EXPECT_THAT(text, HasSubstr("\n| pof-gram | sums | "));
  EXPECT_THAT(ReadableBeyond(MadeUp(), false), HasSubstr("Beyond the paper\n\nMSE x 1e-3  "));
}

TEST(Beyond, HasEveryNumberInFull) {
  const TextTable table = FullBeyond(MadeUp());
  EXPECT_THAT(table.header, ElementsAre("data", "algorithm", "mse", "mse_std", "repetitions",
                                        "diverged", "seconds"));
  ASSERT_EQ(table.rows.size(), 10U);
  EXPECT_THAT(table.rows[6], ElementsAre("air", "fed-poe", "0.01", "5e-04", "20", "yes", "0.001"));
}

TEST(Beyond, SaysTheSameToReadersAndToPrograms) {
  const std::vector<BeyondRun> runs = MadeUp();
  const std::string readable = ReadableBeyond(runs, true);
  std::map<std::string, std::string> cells;  // of each algorithm, in the order of the data sets
  for (const std::vector<std::string>& row : FullBeyond(runs).rows) {
    std::array<char, 32> mean{};
    std::snprintf(mean.data(), mean.size(), "%.2f", 1e3 * std::stod(row[2]));
    cells[row[1]] += " | " + std::string(mean.data()) + " +- 0.50";
    if (row[5] == "yes") cells[row[1]] += " (diverged)";
  }
  EXPECT_EQ(cells.size(), 5U);
  for (const auto& [algorithm, both] : cells) {
    const std::size_t line = readable.find("\n| " + algorithm + " | ");
    ASSERT_NE(line, std::string::npos) << algorithm;
    EXPECT_EQ(readable.substr(readable.find('\n', line + 1) - both.size() - 2, both.size()), both);
  }
}

TEST(Beyond, HasNoCellForADataSetThatWasNotRun) {
  EXPECT_TRUE(FullBeyond({}).rows.empty());
  EXPECT_EQ(ReadableBeyond({}, false).find("naval"), std::string::npos);
}

}  // namespace
}  // namespace polykern
