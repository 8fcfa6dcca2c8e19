#include "polykern/results/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "polykern/core/error.h"
#include "polykern/data/source.h"
#include "polykern/results/result.h"
#include "polykern/results/result_schema_internal.h"
#include "polykern/results/row_result_testing.h"

namespace polykern {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing::ThrowsMessage;

constexpr std::string_view kPage = "<script>@RESULTS@</script>";

/// A result of pof-mkl with as many rows and steps.
Json MakeResult(std::size_t rows, std::size_t steps) {
  SourceOptions source_options;
  const Source source = FleetSource(source_options, 3, steps);
  ExperimentOptions options;
  options.repetitions = 1;
  Row row;
  row.options.kernels = 2;
  row.options.kernels_per_upload = 2;
  row.options.features = 2;
  const std::vector<RowResult> results(rows, MadeUpResult(*source.stream, row));
  return Json::parse(ResultJson(source, source_options, options, results, "polykern run"));
}

/// What the page of a result holds, and what of the result itself.
Json PageContent(const Json& result) {
  const std::string html = ReportHtml(kPage, {{"name", result.dump()}});
  const std::size_t start = kPage.find('@');
  return Json::parse(html.substr(start, html.size() - start - 9));
}
Json InPage(const Json& result) {
  return PageContent(result)["results"][0]["result"];
}

TEST(Report, KeepsSmallResultsAsTheyAre) {
  Json result = MakeResult(1, 50);
  Json shown = InPage(result);
  ASSERT_EQ(shown["runs"][0]["curves"]["step"], result["runs"][0]["curves"]["step"]);
  for (const char* name : {"mse", "regret"}) {
    for (std::size_t i = 0; i < 50; ++i) {
      const auto number = result["runs"][0]["curves"][name][i].get<double>();
      EXPECT_NEAR(shown["runs"][0]["curves"][name][i].get<double>(), number,
                  1e-5 * std::abs(number));
    }
  }
  for (Json* one : {&result, &shown}) {
    (*one)["runs"][0].erase("curves");
    (*one)["runs"][0].erase("client_weights");
    (*one)["runs"][0].erase("client_regret");
    (*one)["runs"][0].erase("client_scores");
  }
  EXPECT_EQ(shown, result);
}

TEST(Report, ShowsTheScoresOfClientsToSixDigits) {
  const Json result = MakeResult(1, 5);
  const Json shown = InPage(result)["runs"][0]["client_scores"];
  const Json& whole = result["runs"][0]["client_scores"];
  EXPECT_EQ(shown["names"], whole["names"]);
  ASSERT_EQ(shown["mse"].size(), whole["mse"].size());
  for (std::size_t i = 0; i < whole["mse"].size(); ++i) {
    EXPECT_NEAR(shown["mse"][i].get<double>(), whole["mse"][i].get<double>(), 1e-6);
  }
}

TEST(Report, ThinsLongCurvesToMeansOfTheSameSteps) {
  const Json result = MakeResult(1, 1900);  // 950 points of 2 steps, joined in threes
  const Json curves = InPage(result)["runs"][0]["curves"];
  ASSERT_EQ(curves["step"].size(), 317U);
  EXPECT_EQ(curves["step"].back(), 1900);
  double sum = 0;
  double before = 0;
  for (std::size_t i = 0; i < 317; ++i) {
    sum += curves["mse"][i].get<double>() * (curves["step"][i].get<double>() - before);
    before = curves["step"][i].get<double>();
  }
  EXPECT_NEAR(sum / 1900, result["runs"][0]["mse"].get<double>(), 1e-6);  // six digits are kept
}

TEST(Report, ThinsCoverageAsItThinsErrors) {
  Json result = MakeResult(1, 1900);
  Json& curves = result["runs"][0]["curves"];
  curves["coverage"] = curves["mse"];
  curves["coverage"][0] = nullptr;
  const Json shown = InPage(result)["runs"][0]["curves"];
  ASSERT_EQ(shown["coverage"].size(), 317U);
  EXPECT_NE(shown["coverage"][0], shown["mse"][0]);
  EXPECT_TRUE(shown["coverage"][0].is_number());
  for (std::size_t i = 1; i < 317; ++i) EXPECT_EQ(shown["coverage"][i], shown["mse"][i]);
  EXPECT_FALSE(InPage(MakeResult(1, 1900))["runs"][0]["curves"].contains("coverage"));
}

TEST(Report, KeepsTheWeightsOfTheFirstRunsAlone) {
  const Json runs = InPage(MakeResult(14, 5))["runs"];
  EXPECT_TRUE(runs[11]["client_weights"].is_object());
  EXPECT_TRUE(runs[12]["client_weights"].is_null());
}

TEST(Report, HoldsNoTextThatCouldEndItsElement) {
  Json result = MakeResult(1, 5);
  result["data"]["target"] = "</script><!--<script>";
  const std::string html = ReportHtml(kPage, {{"<b>", result.dump()}});
  EXPECT_THAT(html.substr(1, html.size() - 10), Not(HasSubstr("<")));
  EXPECT_EQ(InPage(result)["data"]["target"], "</script><!--<script>");
}

TEST(Report, NamesTheFieldThatIsWrong) {
  const Json whole = MakeResult(2, 5);
  const auto with = [&](const auto& change) {
    Json result = whole;
    change(result);
    return [text = result.dump()] { ReportHtml(kPage, {{"out/result.json", text}}); };
  };
  const auto says = [](const std::string& what) {
    return ThrowsMessage<Error>(AllOf(StartsWith("out/result.json: "), HasSubstr(what)));
  };
  EXPECT_THAT(with([](Json& r) { r["runs"][1].erase("uplink_numbers"); }),
              says("'runs[1].uplink_numbers' is missing"));
  EXPECT_THAT(with([](Json& r) { r["runs"][0]["mse"] = nullptr; }),
              says("'runs[0].mse' must be a number"));
  EXPECT_NO_THROW(with([](Json& r) {
    r["runs"][0]["mse"] = nullptr;  // infinite
    r["runs"][0]["diverged"] = {{"repetition", 1}, {"step", 3}, {"reason", "x"}};
  })());
  EXPECT_THAT(with([](Json& r) { r["runs"][0]["options"]["exploration"] = true; }),
              says("'runs[0].options.exploration' must be a number"));
  EXPECT_THAT(with([](Json& r) { r["runs"][0]["curves"]["mse"][3] = "x"; }),
              says("'runs[0].curves.mse[3]' must be a number"));
  EXPECT_THAT(with([](Json& r) { r["runs"][0]["client_weights"]["trace"][1][2].erase(0); }),
              says("'runs[0].client_weights.trace[1][2]' must be a list of 2"));
  EXPECT_THAT(with([](Json& r) { r["reproduction"] = Json::array(); }),
              says("'data' must be a list"));
  EXPECT_THAT(with([](Json& r) { r = 3; }), says("not a polykern result file"));
  const auto half = [&] { ReportHtml(kPage, {{"a", whole.dump().substr(0, 90)}}); };
  EXPECT_THAT(half, ThrowsMessage<Error>(HasSubstr("a: this is not JSON")));
}

TEST(Schema, GivesWhatAnOlderResultLacksItsAbsentValue) {
  Field added = {.name = "new", .type = FieldType::kNumber, .null = Null::kMayBe};
  const ObjectType type = {.name = "Run",
                           .fields = {{.name = "old", .type = FieldType::kNumber},
                                      std::move(added).AbsentMeans(nullptr),
                                      {.name = "rare", .optional = true}}};
  nlohmann::ordered_json run = {{"old", 1}};
  CheckObject(run, type, "run", "file");
  EXPECT_EQ(run, (nlohmann::ordered_json{{"old", 1}, {"new", nullptr}}));
  run["new"] = 2;
  CheckObject(run, type, "run", "file");
  EXPECT_EQ(run["new"], 2);
  run["new"] = "2";
  EXPECT_THAT([&] { CheckObject(run, type, "run", "file"); },
              ThrowsMessage<Error>(HasSubstr("file: 'run.new' must be a number or null")));
}

TEST(Schema, TravelsInThePageWithTheLabelsOfOptions) {
  const Json content = PageContent(MakeResult(1, 5));
  EXPECT_EQ(content["schema"]["Run"]["fields"]["mse"],
            (Json{{"type", "number"}, {"null", "if diverged"}}));
  EXPECT_EQ(content["schema"]["ClientWeights"]["fields"]["last"]["shape"],
            (Json{"clients", "kernels"}));
  EXPECT_THAT(content["labels"], testing::Contains(Json{"exploration", "xi"}));
  const Json options = content["results"][0]["result"]["runs"][0]["options"];
  for (const Json& label : content["labels"]) {
    EXPECT_TRUE(options.contains(label[0].get<std::string>())) << label[0];
  }
}

}  // namespace
}  // namespace polykern
