#include "polykern/paper/reproduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "polykern/paper/naval_testing.h"
#include "polykern/results/report.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class ReproductionOfNaval : public PaperRunsOfNaval {
 protected:
  ReproductionOfNaval() { options_.repetitions = 1; }

  Reproduction Make(const std::vector<std::string>& exhibits, bool markdown) {
    PaperRuns runs = New();
    WantAll(exhibits, data_, runs);
    wanted_ = runs.Prepare(false).wanted;
    runs.Run();
    return Reproduce(exhibits, data_, runs, markdown, "polykern reproduce");
  }
  static std::vector<std::string> NamesOf(const Reproduction& made) {
    std::vector<std::string> names;
    for (const auto& file : made.files) names.push_back(file.name);
    return names;
  }

  const std::vector<PaperData> data_ = {naval_};
  std::size_t wanted_ = 0;
};

TEST_F(ReproductionOfNaval, IsTablesFiguresAndAResultThatReportsCanShow) {
  const Reproduction made = Make({"table4", "figure1"}, true);
  EXPECT_EQ(wanted_, 9U);  // both show the same runs
  EXPECT_THAT(NamesOf(made), ElementsAre("table4.csv", "table4.md", "figure1-naval.csv",
                                         "figure1-naval.svg", "result.json"));
  EXPECT_EQ(made.shown, made.files[1].text + "\n");
  EXPECT_THAT(made.files[0].text, StartsWith("data,algorithm,M,D,weights,"));
  EXPECT_THAT(made.files[3].text, StartsWith("<?xml"));
  const auto json = nlohmann::json::parse(made.files.back().text);
  EXPECT_EQ(json["command"], "polykern reproduce");
  EXPECT_EQ(json["runs"].size(), 9U);
  EXPECT_EQ(json["reproduction"].size(), 9U);
  EXPECT_EQ(json["reproduction"][0]["row"], "OFMKL-Avg");
  // Every field is as the schema of result.json has it.
  EXPECT_NO_THROW(ReportHtml(kReportMark, {{"here", made.files.back().text}}));
}

TEST_F(ReproductionOfNaval, ShowsTheFiguresThatItsFilesHold) {
  const Reproduction made = Make({"table3"}, false);
  EXPECT_THAT(NamesOf(made), ElementsAre("table3.csv", "table3.md", "result.json"));
  EXPECT_THAT(made.shown, StartsWith("Table 3: "));
  EXPECT_THAT(made.files[1].text, StartsWith("## Table 3: "));  // Markdown whatever is shown
  const auto json = nlohmann::json::parse(made.files.back().text);
  for (std::size_t i = 0; i < json["runs"].size(); ++i) {
    const auto& run = json["runs"][i];
    const auto& compared = json["reproduction"][i];  // one run, one row, in the same order
    EXPECT_EQ(compared["measured"].get<double>(), 1e3 * run["mse"].get<double>());
    EXPECT_EQ(compared["weights"], run["options"]["weights"]);
    EXPECT_EQ(compared["kernels_per_upload"], run["kernels_per_upload"]);
  }
}

TEST_F(ReproductionOfNaval, ShowsWhatCameAfterThePaper) {
  const Reproduction made = Make({"beyond"}, false);
  EXPECT_EQ(wanted_, 5U);
  EXPECT_THAT(NamesOf(made), ElementsAre("beyond.csv", "beyond.md", "result.json"));
  EXPECT_THAT(made.shown, StartsWith("Beyond the paper"));
  const auto json = nlohmann::json::parse(made.files.back().text);
  ASSERT_EQ(json["runs"].size(), 5U);
  EXPECT_TRUE(json["reproduction"].empty());  // nothing is published
  EXPECT_EQ(json["runs"][4]["command"], "polykern run --data naval --data-dir " + folder_.path() +
                                            " --algorithm pof-gram --weights reset"
                                            " --repetitions 1 --seed 3");
  EXPECT_NO_THROW(ReportHtml(kReportMark, {{"here", made.files.back().text}}));
}

TEST_F(ReproductionOfNaval, AsksForNothingWhereNothingIsShown) {
  const std::vector<PaperData> uji = {{&FindRecipe("uji"), "uji"}};
  PaperRuns runs = New();
  EXPECT_THAT(MessageOf([&] { WantAll({"figure2"}, uji, runs); }),
              HasSubstr("figure2 does not show uji; name naval, air or wec with data"));
  WantAll({"figure2"}, data_, runs);
  EXPECT_EQ(runs.Prepare(false).wanted, 20U);
}

}  // namespace
}  // namespace polykern
