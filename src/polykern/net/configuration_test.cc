#include "polykern/net/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"

namespace polykern {
namespace {

using testing::HasSubstr;

FederationConfiguration Some() {
  FederationConfiguration some;
  some.algorithm = "pof-mkl";
  some.options.kernels = 7;
  some.options.features = 5;
  some.options.learning_rate = 0.1;
  some.options.schedule = Schedule::kAnytime;
  some.options.loss = LossKind::kHuber;
  some.options.huber_delta = 1.0 / 3;
  some.options.orthogonal = true;
  some.problem = {2, 50, 0xffffffffffffffffU};
  some.scaling = "range";
  some.columns = {{"wind, gusts: m/s", 0, 60.1}, {"", -1e-300, 1}};
  some.target = {"power of it", -5, 1e9};
  return some;
}

TEST(AConfiguration, ComesBackFromItsTextsWithEveryBit) {
  const ConfigurationTexts texts = ToTexts(Some());
  const FederationConfiguration back = FromTexts(texts);
  EXPECT_EQ(ToTexts(back), texts);
  EXPECT_EQ(back.algorithm, "pof-mkl");
  EXPECT_EQ(back.options.kernels, 7U);
  EXPECT_EQ(back.options.features, 5U);
  EXPECT_EQ(back.options.kernels_per_upload, std::nullopt);
  EXPECT_EQ(back.options.learning_rate, 0.1);
  EXPECT_EQ(back.options.schedule, Schedule::kAnytime);
  EXPECT_EQ(back.options.loss, LossKind::kHuber);
  EXPECT_EQ(back.options.huber_delta, 1.0 / 3);
  EXPECT_TRUE(back.options.orthogonal);
  EXPECT_FALSE(back.options.hessian_free);
  EXPECT_EQ(back.problem.seed, 0xffffffffffffffffU);
  ASSERT_EQ(back.columns.size(), 2U);
  EXPECT_EQ(back.columns[0].name, "wind, gusts: m/s");
  EXPECT_EQ(back.columns[0].high, 60.1);
  EXPECT_EQ(back.columns[1].low, -1e-300);
  EXPECT_EQ(back.target.name, "power of it");
}

TEST(AConfiguration, HoldsOnlyWhatDiffersFromItsAbsentValueAndWhatTheAlgorithmUses) {
  FederationConfiguration some;
  some.problem = {3, 10, 0};
  EXPECT_EQ(ToTexts(some),
            (ConfigurationTexts{
                {"algorithm", "pof-mkl"}, {"dimension", "3"}, {"horizon", "10"}, {"seed", "0"}}));
  some.options.ridge = 5;  // of other algorithms
  some.options.exploration = 0.5;
  EXPECT_EQ(ToTexts(some).count("ridge"), 0U);
  EXPECT_EQ(ToTexts(some).at("exploration"), "0.5");
  some.algorithm = "pof-newton";
  EXPECT_EQ(ToTexts(some).at("ridge"), "5");
  EXPECT_EQ(FromTexts(ToTexts(some)).options.ridge, 5);
}

TEST(AConfiguration, IsUnderstoodByWhatItMeansNotByHowItIsWritten) {
  ConfigurationTexts written = ToTexts(Some());
  written["regularization"] = "1e-06";  // its absent value
  written["ridge"] = "0.5";             // not used by the algorithm
  EXPECT_EQ(ToTexts(FromTexts(written)), ToTexts(Some()));
  EXPECT_EQ(Differences(written, ToTexts(Some())), "");
  written["regularization"] = "0.25";
  EXPECT_EQ(Differences(ToTexts(Some()), written), "regularization: 1e-06 -> 0.25");
}

TEST(AConfiguration, NamesWhatIsWrongWithItsTexts) {
  const auto expect = [](const char* name, const char* value, const char* words) {
    ConfigurationTexts texts = ToTexts(Some());
    if (value == nullptr) {
      texts.erase(name);
    } else {
      texts[name] = value;
    }
    try {
      FromTexts(texts);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(words));
    }
  };
  expect("dimension", nullptr, "lacks dimension");
  expect("kernels", "-1", "kernels '-1'");
  expect("kernels", "7 ", "kernels '7 '");
  expect("ridge", "nan", "ridge 'nan'");
  expect("orthogonal", "maybe", "orthogonal 'maybe'");
  expect("loss", "", "loss ''");
  expect("target", "1:0 x", "target '1:0 x'");
  expect("hue", "red", "has hue");
  expect("column.1", nullptr, "1 columns");
  expect("column.3", "0:1 x", "has column.3");
  expect("scaling", "log", "scaling 'log'");
  expect("norm", "0", "norm that is not above 0");
}

TEST(AConfiguration, HasARangeForEveryInputIfItScalesByRanges) {
  FederationConfiguration configuration = Some();
  configuration.columns.clear();
  const ConfigurationTexts texts = ToTexts(configuration);
  EXPECT_THAT([&] { FromTexts(texts); }, testing::ThrowsMessage<Error>(HasSubstr("no columns")));
}

TEST(AConfiguration, SaysWhatDiffersFromAnother) {
  EXPECT_EQ(Differences({{"a", "1"}, {"b", "2"}}, {{"a", "1"}, {"b", "2"}}), "");
  EXPECT_EQ(Differences({{"a", "1"}, {"b", "2"}}, {{"b", "3"}, {"c", "4"}}),
            "a: 1 -> (not set), b: 2 -> 3, c: (not set) -> 4");
  EXPECT_EQ(Differences({{"ridge", "2"}}, {}), "ridge: 2 -> 1e-04");
}

TEST(AConfiguration, NeedsInputsAndAHorizon) {
  FederationConfiguration configuration;
  configuration.problem = {0, 10, 1};
  EXPECT_THROW(MakeAlgorithm(configuration), Error);
  configuration.problem = {3, 0, 1};
  EXPECT_THROW(MakeAlgorithm(configuration), Error);
  configuration.problem = {3, 10, 1};
  EXPECT_EQ(MakeAlgorithm(configuration)->name(), "pof-mkl");
}

}  // namespace
}  // namespace polykern
