#include "polykern/net/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/option_values.h"
#include "polykern/core/error.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/random_configuration_testing.h"

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
  expect("labels", "log", "labels 'log'");
  expect("norm", "0", "norm that is not above 0");
}

TEST(AConfiguration, HasARangeForEveryInputIfItScalesByRanges) {
  FederationConfiguration configuration = Some();
  configuration.columns.clear();
  const ConfigurationTexts texts = ToTexts(configuration);
  EXPECT_THAT([&] { FromTexts(texts); }, testing::ThrowsMessage<Error>(HasSubstr("no columns")));
}

TEST(AConfiguration, ScalesLabelsAsInputsUnlessItSaysOtherwise) {
  for (const char* scaling : {"none", "norm", "range"}) {
    FederationConfiguration some = Some();
    some.scaling = scaling;
    EXPECT_FALSE(ToTexts(some).contains("labels"));
    EXPECT_EQ(FromTexts(ToTexts(some)).ScalesLabels(), some.scaling != "none");
    for (const char* labels : {"none", "range"}) {
      some.labels = labels;
      EXPECT_EQ(FromTexts(ToTexts(some)).ScalesLabels(), some.labels == "range");
    }
  }
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

TEST(AConfiguration, OfAnyAlgorithmComesBackFromItsTexts) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const FederationConfiguration sent = RandomConfiguration(seed);
    const ConfigurationTexts texts = ToTexts(sent);
    const FederationConfiguration back = FromTexts(texts);
    EXPECT_EQ(ToTexts(back), texts) << seed;
    EXPECT_EQ(Canonical(texts), texts);
    EXPECT_EQ(back.algorithm, sent.algorithm);
    EXPECT_EQ(back.problem.dimension, sent.problem.dimension);
    EXPECT_EQ(back.problem.horizon, sent.problem.horizon);
    EXPECT_EQ(back.problem.seed, sent.problem.seed);
    EXPECT_EQ(back.scaling, sent.scaling);
    EXPECT_EQ(back.norm, sent.norm);
    EXPECT_EQ(back.target.low, sent.target.low);
    EXPECT_EQ(back.target.high, sent.target.high);
    ASSERT_EQ(back.columns.size(), sent.columns.size());
    for (std::size_t i = 0; i < sent.columns.size(); ++i) {
      EXPECT_EQ(back.columns[i].name, sent.columns[i].name);
      EXPECT_EQ(back.columns[i].low, sent.columns[i].low);
      EXPECT_EQ(back.columns[i].high, sent.columns[i].high);
    }
    for (const OptionDeclaration& option : kAlgorithmOptions) {
      const std::string expected = UsesOption(sent.algorithm, option)
                                       ? OptionText(option, sent.options)
                                       : std::string(option.absent);
      EXPECT_EQ(OptionText(option, back.options), expected) << option.key;
    }
  }
}

TEST(AConfiguration, NamesEveryTextThatIsJunk) {
  FederationConfiguration some = RandomConfiguration(4);
  some.scaling = "range";
  some.problem.dimension = 2;
  some.columns = {{"a", 0, 1}, {"b", 0, 2}};
  for (const OptionDeclaration& option : kAlgorithmOptions) {
    if (option.key == "dictionary") continue;  // MakeAlgorithm knows their names
    ConfigurationTexts texts = ToTexts(some);
    texts[std::string(option.key)] = "\x01junk";
    EXPECT_THAT([&] { FromTexts(texts); },
                testing::ThrowsMessage<Error>(HasSubstr("the federation's configuration has the " +
                                                        std::string(option.key) + " '\x01junk'")));
    EXPECT_EQ(Canonical(texts), texts);  // left as it is
  }
  for (const char* name :
       {"dimension", "horizon", "seed", "norm", "target", "scaling", "column.1"}) {
    for (const char* junk : {"junk", "", "1 ", "nan", "99999999999999999999999"}) {
      ConfigurationTexts texts = ToTexts(some);
      texts[name] = junk;
      if (texts[name] == "99999999999999999999999" && std::string(name) == "norm") continue;
      EXPECT_THAT([&] { FromTexts(texts); },
                  testing::ThrowsMessage<Error>(HasSubstr(std::string(name) + " '" + junk)))
          << name;
    }
  }
}

TEST(AConfiguration, LacksNothingButWhatHasNoAbsentValue) {
  const ConfigurationTexts whole = ToTexts(Some());
  std::vector<std::string> needed;
  for (const auto& [name, value] : whole) {
    if (name.starts_with("column.")) continue;
    ConfigurationTexts texts = whole;
    texts.erase(name);
    try {
      FromTexts(texts);
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), "the federation's configuration lacks " + name);
      needed.push_back(name);
    }
  }
  EXPECT_THAT(needed, testing::ElementsAre("algorithm", "dimension", "horizon", "seed"));
}

TEST(AConfiguration, ReadsRangesThatAreRangesAlone) {
  const auto read = [](const std::string& text) {
    ConfigurationTexts texts = ToTexts(Some());
    texts["target"] = text;
    return FromTexts(texts).target;
  };
  EXPECT_EQ(read("-1.5:2 a: b").name, "a: b");
  EXPECT_EQ(read("-1.5:2 ").name, "");
  EXPECT_EQ(read("5e-324:1e-300  x").low, 5e-324);
  EXPECT_EQ(read("5e-324:1e-300  x").name, " x");
  for (const char* text : {"0:1", "0 1:2", "0: x", ":1 x", "1:1 x", "2:1 x", "0:inf x", "-inf:0 x",
                           "nan:1 x", "-1e308:1e308 x", "0:1x y", "0:1\tx", "0;1 x"}) {
    EXPECT_THAT([&] { read(text); },
                testing::ThrowsMessage<Error>(HasSubstr(std::string("target '") + text + "'")));
  }
}

TEST(AConfiguration, ShowsOnlyTheBeginningOfAnEndlessText) {
  ConfigurationTexts texts = ToTexts(Some());
  texts["seed"] = std::string(5000, 'x');
  EXPECT_THAT([&] { FromTexts(texts); },
              testing::ThrowsMessage<Error>("the federation's configuration has the seed '" +
                                            std::string(60, 'x') + "', which cannot be read"));
  texts = ToTexts(Some());
  texts["scaling"] = std::string(61, 'y');
  EXPECT_THAT([&] { FromTexts(texts); },
              testing::ThrowsMessage<Error>(
                  "the federation's configuration has the scaling '" + std::string(60, 'y') +
                  "', which is not known here; is the other side a newer version of polykern?"));
}

TEST(AConfiguration, DiffersFromAnotherExactlyIfItsTextsDo) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const ConfigurationTexts one = ToTexts(RandomConfiguration(seed));
    const ConfigurationTexts other = ToTexts(RandomConfiguration(seed + 1));
    EXPECT_EQ(Differences(one, one), "");
    EXPECT_NE(Differences(one, other), "");
    ConfigurationTexts changed = one;
    changed["seed"] = "12345";
    EXPECT_EQ(Differences(one, changed), "seed: " + one.at("seed") + " -> 12345");
    EXPECT_EQ(Differences(changed, one), "seed: 12345 -> " + one.at("seed"));
  }
}

TEST(AConfiguration, HasAtMostAMillionInputs) {
  FederationConfiguration configuration;
  configuration.algorithm = "local";
  configuration.problem = {1'000'001, 10, 1};
  EXPECT_THAT([&] { MakeAlgorithm(configuration); },
              testing::ThrowsMessage<Error>("a federation needs between 1 and 1000000 inputs and a "
                                            "horizon of at least 1"));
}

TEST(AConfiguration, LearnsRangesOnlyIfItScalesByThem) {
  FederationConfiguration configuration;
  configuration.problem = {1, 10, 1};
  configuration.columns = {{"a"}};
  configuration.scaling = "range";
  configuration.learn_ranges = 7;
  EXPECT_EQ(FromTexts(ToTexts(configuration)).learn_ranges, 7U);
  const auto refused = testing::ThrowsMessage<Error>(testing::HasSubstr("does not scale by them"));
  configuration.labels = "none";
  EXPECT_THAT([&] { FromTexts(ToTexts(configuration)); }, refused);
  configuration.labels.clear();
  configuration.scaling = "none";
  EXPECT_THAT([&] { FromTexts(ToTexts(configuration)); }, refused);
}

TEST(AConfiguration, WroteDownPrivateExpertsInAnotherWayBefore) {
  FederationConfiguration federation;
  federation.algorithm = "pof-newton";
  ConfigurationTexts old = ToTexts(federation);
  old.erase("experts");
  old["local_experts"] = "yes";
  EXPECT_EQ(FromTexts(old).options.experts, Experts::kFederatedAndLocal);
  old["local_experts"] = "no";
  EXPECT_EQ(FromTexts(old).options.experts, Experts::kFederated);
  for (const char* bad : {"maybe", ""}) {
    old["local_experts"] = bad;
    EXPECT_THAT([&] { FromTexts(old); }, ThrowsMessage<Error>(HasSubstr("local_experts")));
  }
  old["experts"] = "federated";
  old["local_experts"] = "no";
  EXPECT_THAT([&] { FromTexts(old); }, ThrowsMessage<Error>(HasSubstr("local_experts")));
}

}  // namespace
}  // namespace polykern
