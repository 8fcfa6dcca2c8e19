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

}  // namespace
}  // namespace polykern
