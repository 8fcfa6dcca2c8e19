#include "polykern/net/version_2.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/random.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/random_configuration_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

FederationConfiguration Federation(std::string_view algorithm) {
  FederationConfiguration federation;
  federation.algorithm = algorithm;
  federation.problem = {2, 50, 3};
  return federation;
}

/// What a program of version 2 wants: these names, the second ones only where they have a value.
const std::set<std::string> kNeeded = {"algorithm",     "dictionary",     "kernels",
                                       "budget",        "orthogonal",     "shared_draws",
                                       "schedule",      "regularization", "loss",
                                       "huber_delta",   "hessian_free",   "single_bandwidth",
                                       "inner_rate",    "meta_rate",      "projection_radius",
                                       "weighting",     "ridge",          "forgetting",
                                       "refresh",       "server_memory",  "local_experts",
                                       "local_kernels", "dimension",      "horizon",
                                       "seed",          "scaling",        "norm",
                                       "target"};

TEST(Version2, GetsEveryNameThatItKnowsAndNoOther) {
  for (const auto name : AlgorithmNames()) {
    if (name == "pof-gram" || name == "fed-poe") {  // they came later
      EXPECT_THAT([&] { ForVersion2(ToTexts(Federation(name))); },
                  ThrowsMessage<Error>(HasSubstr("algorithm ('" + std::string(name) + "')")));
      continue;
    }
    std::set<std::string> names;
    const ConfigurationTexts old = ForVersion2(ToTexts(Federation(name)));
    for (const auto& [key, value] : old) names.insert(key);
    EXPECT_EQ(names, kNeeded) << name;
    EXPECT_EQ(old.at("algorithm"), name);
    EXPECT_EQ(old.at("ridge"), "1e-04");
    EXPECT_EQ(old.at("local_experts"), "yes");
    EXPECT_EQ(ToTexts(FromTexts(old)), ToTexts(Federation(name)));  // and back
  }
}

TEST(Version2, GetsTheValuesThatAreSet) {
  FederationConfiguration federation = Federation("pof-newton");
  federation.options.experts = Experts::kFederated;
  federation.options.kernels_per_upload = 3;
  federation.options.ridge = 0.25;
  federation.columns = {{"a", 0, 1}, {"b", 0, 2}};
  federation.scaling = "range";
  const ConfigurationTexts old = ForVersion2(ToTexts(federation));
  EXPECT_EQ(old.at("local_experts"), "no");
  EXPECT_FALSE(old.contains("experts"));
  EXPECT_EQ(old.at("kernels_per_upload"), "3");
  EXPECT_EQ(old.at("ridge"), "0.25");
  EXPECT_EQ(old.at("column.1"), "0:2 b");
  EXPECT_EQ(ToTexts(FromTexts(old)), ToTexts(federation));
}

TEST(Version2, IsRefusedByTheNameOfWhatIsTooNewForIt) {
  ConfigurationTexts texts = ToTexts(Federation("pof-mkl"));
  texts["burst"] = "21";
  EXPECT_THAT([&] { ForVersion2(texts); },
              ThrowsMessage<Error>(AllOf(HasSubstr("burst ('21')"), HasSubstr("update"))));
  texts.erase("burst");
  texts["loss"] = "quantile";
  EXPECT_THAT([&] { ForVersion2(texts); }, ThrowsMessage<Error>(HasSubstr("loss ('quantile')")));
  texts["loss"] = "huber";
  texts["algorithm"] = "pof-gram";
  EXPECT_THAT([&] { ForVersion2(texts); },
              ThrowsMessage<Error>(HasSubstr("algorithm ('pof-gram')")));
}

TEST(Version2, WroteDownPrivateExpertsInAnotherWay) {
  ConfigurationTexts old = ForVersion2(ToTexts(Federation("pof-newton")));
  EXPECT_EQ(FromTexts(old).options.experts, Experts::kFederatedAndLocal);
  old["local_experts"] = "no";
  EXPECT_EQ(FromTexts(old).options.experts, Experts::kFederated);
  old["local_experts"] = "maybe";
  EXPECT_THAT([&] { FromTexts(old); }, ThrowsMessage<Error>(HasSubstr("local_experts")));
}

TEST(Version2, UnderstandsAnyFederationThatIsNotTooNewForIt) {
  std::size_t told = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const ConfigurationTexts texts = ToTexts(RandomConfiguration(seed));
    ConfigurationTexts old;
    try {
      old = ForVersion2(texts);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(),
                  HasSubstr("is newer than version 2 of the protocol: update this client"));
      continue;
    }
    ++told;
    EXPECT_EQ(ToTexts(FromTexts(old)), texts) << seed;
    EXPECT_EQ(Differences(old, texts), "");
    for (const std::string& name : kNeeded) EXPECT_TRUE(old.contains(name)) << name;
    EXPECT_FALSE(old.contains("experts"));
  }
  EXPECT_GT(told, 100U);
}

TEST(Version2, IsToldOfNoOptionThatCameAfterIt) {
  for (const OptionDeclaration& option : kAlgorithmOptions) {
    ConfigurationTexts texts = ToTexts(Federation("pof-mkl"));
    const std::string name(option.key);
    Random random(1, Purpose::kTest);
    do texts[name] = RandomOptionText(option, random);
    while (texts[name] == option.zero && !option.zero.empty());
    if (option.since > kLastVersionWithEveryOption) {
      EXPECT_THAT([&] { ForVersion2(texts); }, ThrowsMessage<Error>(HasSubstr(name))) << name;
    } else {
      EXPECT_NO_THROW(ForVersion2(texts)) << name;
    }
  }
}

TEST(Version2, KnowsOnlyANumberToForgetBy) {
  ConfigurationTexts texts = ToTexts(Federation("pof-newton"));
  texts["forgetting"] = "0.5";
  EXPECT_NO_THROW(ForVersion2(texts));
  texts["forgetting"] = "auto";
  EXPECT_THAT([&] { ForVersion2(texts); }, ThrowsMessage<Error>(HasSubstr("forgetting ('auto')")));
}

TEST(Version2, ShowsOnlyTheBeginningOfATextThatIsTooNew) {
  EXPECT_THAT(
      [] {
        ForVersion2({{"hue", std::string(100, 'r')}});
      },
      ThrowsMessage<Error>("this federation's hue ('" + std::string(60, 'r') +
                           "') is newer than version 2 of the protocol: update this "
                           "client"));
}

TEST(Version2, LeavesTextsOfTodayAsTheyAre) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const ConfigurationTexts texts = ToTexts(RandomConfiguration(seed));
    EXPECT_EQ(FromVersion2(texts), texts);
  }
  const ConfigurationTexts both = {{"experts", "local"}, {"local_experts", "no"}};
  EXPECT_EQ(FromVersion2(both), both);  // which FromTexts refuses by its name
}

}  // namespace
}  // namespace polykern
