#include "polykern/results/repetition.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/data/source.h"
#include "polykern/results/kept_fields_internal.h"
#include "polykern/results/result.h"

namespace polykern {
namespace {

using testing::ElementsAre;

// A file that revision 19f2aeb left in partial/ when it was killed, with 2 clients, steps, kernels
// and features, and carried weights: what it is found by, and what it holds.
constexpr const char* kOldData =
    R"_({"name":"synthetic","files":[],"target":"","inputs":[],"unused_columns":[],)_"
    R"_("site_column":"","client_column":"","categorical":[],"missing":"drop","ranges":{},)_"
    R"_("major_share":0.7,"rows":0,"dropped_rows":0,"clipped_values":0,"dimension":8,)_"
    R"_("clients":2,"steps":2,"sites":["site 1 (saturating)","site 2 (gentle)",)_"
    R"_("site 3 (rippled)","site 4 (rough)"],"scaling":"none","split":"synthetic","seed":0,)_"
    R"_("noise":0.05,"drift":0.0,"sha256":[]})_";
constexpr const char* kOldRow =
    R"({"polykern":"0.1.0","fields":2,"algorithm":"pof-mkl","kernels_per_upload":2,)"
    R"("features":2,"repetitions":30000,"options":{"dictionary":"gaussian","kernels":2,)"
    R"("orthogonal":false,"shared_draws":false,"budget":1000,"exploration":1.0,)"
    R"("learning_rate":null,"weight_rate":null,"schedule":"constant",)"
    R"("regularization":1e-06,"loss":"squared","huber_delta":0.1,"single_bandwidth":10.0,)"
    R"("hessian_free":false,"inner_rate":0.01,"meta_rate":0.001,"projection_radius":10.0,)"
    R"("weighting":"adahedge","ridge":0.0001,"forgetting":1.0,"refresh":0.02,)"
    R"("server_memory":4096,"experts":"federated,local","local_kernels":8,)"
    R"("local_memory":null,"weights":"carried","participation":1.0,"seed":0}})";
constexpr const char* kOldText =
    R"({"fingerprint":16937430139494602263,"finished":true,"has_regret":true,)"
    R"("last":[1157655860806858644,4607182418800017408,1099374859429238102,)"
    R"(4607182418800017408],"numbers":[4593449407583758256,0,4532421984761979456,0],)"
    R"("over_bound":0,"regret":[13736043768285495296,13736043768285495296],)"
    R"("state":[4652202270162984006,4643481387196029850,4652670200029743187,)"
    R"(4645097992304915428],"step_mse":[4597939181444315676,4555714416252496027],)"
    R"("step_regret":[0,13736043768285495296],)"
    R"("trace":[1158490041384634851,4607182418800017408,1100439305933508684,)"
    R"(4607182418800017408,1157655860806858644,4607182418800017408,1099374859429238102,)"
    R"(4607182418800017408],"traffic":[4,32,160,128,8],"unit_losses":true})";

TEST(KeptRepetition, KeepsTheErrorsOfClients) {
  Repetition run = ParseRepetition(kOldText).value();
  EXPECT_TRUE(run.client_mse.empty());
  run.client_mse = {0.25, std::nan("")};
  const auto read = ParseRepetition(RepetitionText(run));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->client_mse.size(), 2U);
  EXPECT_EQ(read->client_mse[0], 0.25);
  EXPECT_TRUE(std::isnan(read->client_mse[1]));
  // Beside one that did not measure them, there is no mean of all.
  EXPECT_TRUE(Summarize({}, {run, ParseRepetition(kOldText).value()}, 2).client_mse.empty());
  EXPECT_EQ(Summarize({}, {run, run}, 2).client_mse[0], 0.25);
}

TEST(KeptRepetition, KeepsTheEpsilonThatIsSpent) {
  Repetition run = ParseRepetition(kOldText).value();
  EXPECT_EQ(run.epsilon_spent, 0);
  run.epsilon_spent = 0.75;
  EXPECT_EQ(ParseRepetition(RepetitionText(run)).value().epsilon_spent, 0.75);
  Repetition more = run;
  more.epsilon_spent = 0.8;
  EXPECT_EQ(Summarize({}, {run, more, run}, 2).epsilon_spent, 0.8) << "the most";
  run.step_epsilon = {0, 0.5};
  EXPECT_EQ(ParseRepetition(RepetitionText(run)).value().step_epsilon, run.step_epsilon);
  EXPECT_TRUE(Summarize({}, {run, more}, 2).step_epsilon.empty()) << "one of them has none";
  more.step_epsilon = {0.25, 0.75};
  EXPECT_EQ(Summarize({}, {run, more}, 2).step_epsilon, (std::vector<double>{0.125, 0.625}));
}

TEST(KeptRepetition, KeepsHowIntervalsFared) {
  Repetition run = ParseRepetition(kOldText).value();
  run.intervals = {3, 2, 0.5};
  run.step_coverage = {std::nan(""), 0.5};
  run.client_coverage = {0, 1};
  const auto read = ParseRepetition(RepetitionText(run));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->intervals, run.intervals);
  EXPECT_TRUE(std::isnan(read->step_coverage.at(0)));
  EXPECT_EQ(read->step_coverage.at(1), 0.5);
  Repetition better = run;
  better.client_coverage = {1, 1};
  EXPECT_THAT(Summarize({}, {run, better}, 2).client_coverage, ElementsAre(0.5, 1));
  EXPECT_EQ(Summarize({}, {run, better}, 2).step_coverage[1], 0.5);
  // Beside one that did not measure them, there is no mean of all.
  const RowResult mixed = Summarize({}, {ParseRepetition(kOldText).value(), run}, 2);
  EXPECT_TRUE(mixed.client_coverage.empty() && mixed.step_coverage.empty());
}

TEST(KeptRepetition, OfAnOlderProgramIsReadAndWrittenWithTheSameBits) {
  const auto run = ParseRepetition(kOldText);
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->finished && run->has_regret && run->unit_losses && !run->divergence);
  EXPECT_EQ(run->mse, 0.12191618437841956);
  EXPECT_EQ(run->seconds, 1.068e-05);
  EXPECT_THAT(run->step_mse, ElementsAre(0.24344862664061473, 0.0003837421162243921));
  EXPECT_EQ(run->traffic.messages, 4U);
  EXPECT_EQ(run->traffic.largest_up, 8U);
  EXPECT_EQ(run->fingerprint, 16937430139494602263U);
  EXPECT_EQ(run->state.size(), 4U);
  EXPECT_EQ(RepetitionText(*run), kOldText);
}

TEST(KeptRepetition, OfAnOlderProgramIsFound) {
  SourceOptions source_options;
  source_options.clients = 2;
  source_options.steps = 2;
  EXPECT_EQ(SampleSettings(OpenSource(source_options), source_options), kOldData);
  ExperimentOptions options;
  options.repetitions = 30000;
  options.carry_weights = true;
  Row row;
  row.options.kernels_per_upload = 2;
  row.options.kernels = 2;
  row.options.features = 2;
  EXPECT_EQ(RowSettings(row, options), kOldRow);
}

TEST(KeptRepetition, KeepsEveryBitOfNumbersThatAreNone) {
  Repetition run;
  run.mse = std::numeric_limits<double>::quiet_NaN();
  run.regret = {-0.0, std::numeric_limits<double>::infinity(), 5e-324};
  run.divergence = {3, 4, "because"};
  const std::string text = RepetitionText(run);
  const auto again = ParseRepetition(text);
  ASSERT_TRUE(again);
  EXPECT_EQ(RepetitionText(*again), text);
  EXPECT_TRUE(std::isnan(again->mse));
  EXPECT_TRUE(std::signbit(again->regret[0]));
  EXPECT_EQ(again->divergence->message, "because");
}

TEST(KeptRepetition, IsNotReadIfAFieldIsMissingOrIsSomethingElse) {
  const auto with = [](const auto& change) {
    auto json = nlohmann::json::parse(kOldText);
    change(json);
    return ParseRepetition(json.dump());
  };
  EXPECT_TRUE(with([](auto& json) { json["of a newer program"] = 1; }));
  EXPECT_FALSE(with([](auto& json) { json.erase("regret"); }));
  EXPECT_FALSE(with([](auto& json) { json["traffic"].erase(0); }));
  EXPECT_FALSE(with([](auto& json) { json["mse"] = json["numbers"] = "0.1"; }));
}

struct Grown {
  double old_one = 0;
  double new_one = 0;
};
template <typename Run, typename Kept>
void EachOf(Run& run, Kept& kept) {
  kept.Field("old_one", run.old_one);
  kept.NewField("new_one", run.new_one, 7.5);
}

TEST(KeptFields, ThatAreNewHaveTheirAbsentValueInOlderTexts) {
  const Grown whole{.old_one = 0.1, .new_one = 0.2};
  KeptWriter writer;
  EachOf(whole, writer);
  KeptReader reader(writer.Text());
  Grown read;
  EachOf(read, reader);
  EXPECT_EQ(read.new_one, 0.2);

  KeptWriter old;
  old.Field("old_one", 0.1);
  KeptReader old_reader(old.Text());
  EachOf(read, old_reader);
  EXPECT_EQ(read.old_one, 0.1);
  EXPECT_EQ(read.new_one, 7.5);
}

Repetition Finished(double mse, std::vector<double> regret) {
  Repetition run;
  run.finished = run.has_regret = true;
  run.mse = mse;
  run.step_mse = {mse, mse};
  run.step_regret = {0, regret[0]};
  run.regret = std::move(regret);
  run.traffic = {4, 8, 16, 32, 3};
  run.seconds = 0.5;
  run.bound = 2;
  return run;
}

TEST(Summarize, TakesMeansOverRepetitionsAndSpreadsOverThemAndTheClients) {
  std::vector<Repetition> runs = {Finished(0.1, {1, 3}), Finished(0.3, {3, 5})};
  runs[0].weights.last = {0.25, 0.75};
  runs[1].weights.last = {0.75, 0.25};
  runs[1].unit_losses = false;
  runs[1].over_bound = 2;
  const RowResult result = Summarize({}, runs, 2);
  EXPECT_EQ(result.repetitions, 2U);
  EXPECT_DOUBLE_EQ(result.mse.mean, 0.2);
  EXPECT_DOUBLE_EQ(result.mse.deviation, SpreadOf(std::vector<double>{0.1, 0.3}).deviation);
  EXPECT_THAT(result.client_regret, ElementsAre(2, 4));  // of each client
  EXPECT_EQ(result.regret.mean, 3);
  EXPECT_EQ(result.regret.deviation, SpreadOf(std::vector<double>{2, 4}).deviation);
  EXPECT_THAT(result.step_regret, ElementsAre(0, 2));
  EXPECT_THAT(result.weights.last, ElementsAre(0.5, 0.5));
  EXPECT_EQ(result.regret_bound, 2);
  EXPECT_FALSE(result.unit_losses);
  EXPECT_EQ(result.over_bound, 2U);
  EXPECT_EQ(result.seconds, 1);
  EXPECT_EQ(result.samples, 8U);
  EXPECT_EQ(result.uplink_numbers, 3U);
  EXPECT_EQ(result.uplink_bytes, 4);
  EXPECT_EQ(result.downlink_bytes, 8);
  EXPECT_EQ(result.microseconds_per_sample(), 1e6 / 8);
}

TEST(Summarize, CountsTheFinishedOnesOfARowThatDiverged) {
  Repetition lost = Finished(100, {50, 50});
  lost.finished = false;
  lost.divergence = {1, 7, "too large"};
  const RowResult result = Summarize({}, {Finished(0.1, {1, 3}), lost}, 2);
  EXPECT_EQ(result.repetitions, 1U);
  EXPECT_EQ(result.mse.mean, 0.1);
  EXPECT_EQ(result.regret.mean, 2);
  ASSERT_TRUE(result.divergence);
  EXPECT_EQ(result.divergence->step, 7U);
}

TEST(Summarize, ShowsTheFirstStepsIfNothingFinished) {
  Repetition lost = Finished(100, {50, 50});
  lost.finished = false;
  lost.regret.clear();
  lost.step_regret = {1, 4};
  lost.divergence = {0, 2, "first"};
  Repetition later = lost;
  later.divergence = {1, 1, "second"};
  const RowResult result = Summarize({}, {lost, later}, 2);
  EXPECT_EQ(result.repetitions, 0U);
  EXPECT_EQ(result.divergence->message, "first");
  EXPECT_EQ(result.regret.mean, 4);
  EXPECT_TRUE(result.client_regret.empty());
  EXPECT_THAT(result.step_mse, ElementsAre(100, 100));
}

TEST(Summarize, TellsTheOrderOfTheRepetitionsApart) {
  Repetition one = Finished(0.1, {1, 1});
  Repetition two = one;
  one.fingerprint = 5;
  two.fingerprint = 6;
  EXPECT_NE(Summarize({}, {one, two}, 2).fingerprint, Summarize({}, {two, one}, 2).fingerprint);
}

}  // namespace
}  // namespace polykern
