#include "polykern/algorithms/options.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/option_values.h"
#include "polykern/core/error.h"

namespace polykern {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Uplink PofMkl(const AlgorithmOptions& options) {
  return {"pof-mkl", options.kernels_per_upload.value_or(1), 0};
}

/// What CheckOptions says about the default options after a change; empty if nothing.
std::string Complaint(const std::function<void(AlgorithmOptions&)>& change) {
  AlgorithmOptions options;
  change(options);
  try {
    CheckOptions(options, PofMkl(options));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::size_t FeaturesFor(std::size_t per_upload) {
  AlgorithmOptions options;
  options.kernels_per_upload = per_upload;
  return ResolveFeatures(options, PofMkl(options));
}

TEST(ResolveFeatures, GivesThePapersNumbersForItsBudget) {
  EXPECT_EQ(FeaturesFor(1), 100U);
  EXPECT_EQ(FeaturesFor(5), 100U);
  EXPECT_EQ(FeaturesFor(25), 20U);
  EXPECT_EQ(FeaturesFor(51), 9U);
}

TEST(ResolveFeatures, PrefersTheGivenNumber) {
  AlgorithmOptions options;
  options.features = 7;
  EXPECT_EQ(ResolveFeatures(options, PofMkl(options)), 7U);
  options.features = 400;
  EXPECT_EQ(ResolveFeatures(options, PofMkl(options)), 400U);
}

TEST(CheckOptions, AcceptsTheDefaultsAndTheLimits) {
  EXPECT_EQ(Complaint([](auto&) {}), "");
  EXPECT_EQ(Complaint([](auto& o) { o.kernels_per_upload = o.kernels; }), "");
  EXPECT_EQ(Complaint([](auto& o) { o.features = 500; }), "");
  EXPECT_EQ(Complaint([](auto& o) { o.budget = 2; }), "");
  EXPECT_EQ(Complaint([](auto& o) { o.exploration = 1e-9; }), "");
  EXPECT_EQ(Complaint([](auto& o) { o.regularization = 0; }), "");
  EXPECT_EQ(Complaint([](auto& o) { o.learning_rate = o.weight_rate = 1e-9; }), "");
  EXPECT_EQ(Complaint([](auto& o) { o.kernels = 1; }), "");
}

TEST(CheckOptions, RefusesAnUnknownDictionary) {
  EXPECT_THAT(Complaint([](auto& o) { o.dictionary = "linear"; }),
              AllOf(HasSubstr("dictionary"), HasSubstr("'linear'")));
}

TEST(CheckOptions, RefusesNoKernels) {
  EXPECT_THAT(Complaint([](auto& o) { o.kernels = 0; }),
              AllOf(HasSubstr("kernels is 0"), HasSubstr("[1, 100000]")));
}

TEST(CheckOptions, RefusesToUploadNoneOrMoreKernelsThanThereAre) {
  EXPECT_THAT(Complaint([](auto& o) { o.kernels_per_upload = 0; }),
              AllOf(HasSubstr("kernels_per_upload is 0"), HasSubstr("at least 1")));
  EXPECT_THAT(Complaint([](auto& o) { o.kernels_per_upload = 52; }),
              AllOf(HasSubstr("kernels_per_upload is 52"), HasSubstr("only 51")));
}

TEST(CheckOptions, RefusesABudgetThatHoldsNothing) {
  EXPECT_THAT(Complaint([](auto& o) { o.budget = 0; }), HasSubstr("budget is 0"));
  EXPECT_THAT(Complaint([](auto& o) { o.budget = 1; }), HasSubstr("budget"));
  EXPECT_THAT(Complaint([](auto& o) {
                o.kernels_per_upload = 51;
                o.budget = 101;
              }),
              AllOf(HasSubstr("budget is 101"), HasSubstr("51 kernels"), HasSubstr("102 numbers"),
                    HasSubstr("kernels_per_upload")));
}

TEST(CheckOptions, RefusesNoFeaturesAndFeaturesOverTheBudget) {
  EXPECT_THAT(Complaint([](auto& o) { o.features = 0; }), HasSubstr("features is 0"));
  EXPECT_THAT(
      Complaint([](auto& o) { o.features = 501; }),
      AllOf(HasSubstr("features is 501"), HasSubstr("budget of 1000"), HasSubstr("allows 500")));
  EXPECT_THAT(Complaint([](auto& o) {
                o.kernels_per_upload = 25;
                o.features = 21;
              }),
              AllOf(HasSubstr("features is 21"), HasSubstr("25 kernels"), HasSubstr("allows 20")));
}

TEST(CheckOptions, RefusesExplorationOutsideItsRange) {
  for (const double bad : {0.0, -0.1, 1.0001, kInfinity, kNan}) {
    EXPECT_THAT(Complaint([=](auto& o) { o.exploration = bad; }),
                AllOf(HasSubstr("exploration is "), HasSubstr("(0, 1]")))
        << bad;
  }
}

TEST(CheckOptions, RefusesRatesThatAreNotPositive) {
  for (const double bad : {0.0, -1.0, kInfinity, kNan}) {
    EXPECT_THAT(Complaint([=](auto& o) { o.learning_rate = bad; }), HasSubstr("learning_rate is"))
        << bad;
    EXPECT_THAT(Complaint([=](auto& o) { o.weight_rate = bad; }), HasSubstr("weight_rate is"))
        << bad;
  }
}

TEST(CheckOptions, RefusesNegativeRegularization) {
  for (const double bad : {-1e-9, kInfinity, kNan}) {
    EXPECT_THAT(Complaint([=](auto& o) { o.regularization = bad; }), HasSubstr("regularization is"))
        << bad;
  }
}

TEST(CheckOptions, RefusesSharedDrawsWhereTheyCannotBe) {
  EXPECT_EQ(Complaint([](auto& o) { o.shared_draws = true; }), "");
  EXPECT_THAT(Complaint([](auto& o) {
                o.shared_draws = true;
                o.dictionary = "mixed";
              }),
              AllOf(HasSubstr("dictionary is mixed"), HasSubstr("shared_draws")));
  EXPECT_THAT(Complaint([](auto& o) { o.shared_draws = o.orthogonal = true; }),
              HasSubstr("shared_draws"));
}

TEST(CheckOptions, RefusesAHuberDeltaThatIsNotPositive) {
  for (const double bad : {0.0, -0.1, kInfinity, kNan}) {
    EXPECT_THAT(Complaint([=](auto& o) { o.huber_delta = bad; }), HasSubstr("huber_delta is"))
        << bad;
  }
}

TEST(ResolveFeatures, LeavesRoomForTheLosses) {
  const AlgorithmOptions options;
  EXPECT_EQ(ResolveFeatures(options, {"", 51, 0}), 9U);
  EXPECT_EQ(ResolveFeatures(options, {"", 51, 51}), 9U);
  EXPECT_EQ(ResolveFeatures(options, {"", 51, 83}), 8U);
  EXPECT_EQ(ResolveFeatures(options, {"", 1, 51}), 100U);
  EXPECT_EQ(ResolveFeatures(options, {"", 1, 900}), 50U);
  EXPECT_EQ(ResolveFeatures(options, {"", 0, 0}), 100U);
}

TEST(CheckOptions, CountsTheLossesAndNamesTheAlgorithm) {
  AlgorithmOptions options;
  options.features = 10;
  const auto check = [&] { CheckOptions(options, {"vm-kofl", 51, 51}); };
  EXPECT_THAT(check, testing::ThrowsMessage<Error>(
                         AllOf(HasSubstr("features is 10"), HasSubstr("vm-kofl sends 51 kernels"),
                               HasSubstr("51 losses"), HasSubstr("allows 9"))));
  options.features.reset();
  options.budget = 152;
  EXPECT_THAT(check, testing::ThrowsMessage<Error>(
                         AllOf(HasSubstr("budget is 152"), HasSubstr("153 numbers"))));
  options.budget = 153;
  EXPECT_NO_THROW(check());
  options.budget = 10;  // fewer than the losses alone
  EXPECT_THROW(check(), Error);
}

TEST(CheckOptions, AllowsAnyFeaturesToAlgorithmsThatSendNothing) {
  AlgorithmOptions options;
  options.budget = 1;
  options.features = 1000;
  EXPECT_NO_THROW(CheckOptions(options, {"local", 0, 0}));
}

TEST(CheckOptions, RefusesSettingsOfTheOtherAlgorithmsThatAreNotPositive) {
  for (const double bad : {0.0, -1.0, kInfinity, kNan}) {
    EXPECT_THAT(Complaint([=](auto& o) { o.single_bandwidth = bad; }),
                HasSubstr("single_bandwidth is"));
    EXPECT_THAT(Complaint([=](auto& o) { o.inner_rate = bad; }), HasSubstr("inner_rate is"));
    EXPECT_THAT(Complaint([=](auto& o) { o.meta_rate = bad; }), HasSubstr("meta_rate is"));
    EXPECT_THAT(Complaint([=](auto& o) { o.projection_radius = bad; }),
                HasSubstr("projection_radius is"));
  }
}

TEST(CheckOptions, RefusesSettingsOfTheRegressionsOutOfTheirRanges) {
  for (const double bad : {0.0, -1.0, kInfinity, kNan}) {
    EXPECT_THAT(Complaint([=](auto& o) { o.ridge = bad; }), HasSubstr("ridge is"));
  }
  for (const double bad : {-0.5, 1.0001, kInfinity, kNan}) {
    EXPECT_THAT(Complaint([=](auto& o) { o.forgetting = bad; }),
                AllOf(HasSubstr("forgetting is"), HasSubstr("(0, 1]")));
  }
  for (const double bad : {-0.1, 1.0, kInfinity, kNan}) {
    EXPECT_THAT(Complaint([=](auto& o) { o.refresh = bad; }),
                AllOf(HasSubstr("refresh is"), HasSubstr("[0, 1)")));
  }
  EXPECT_THAT(Complaint([](auto& o) { o.local_kernels = 0; }), HasSubstr("local_kernels is 0"));
  EXPECT_THAT(Complaint([](auto& o) { o.local_memory = SIZE_MAX; }),
              AllOf(HasSubstr("local_memory is"), HasSubstr("[1, 1073741824]")));
  EXPECT_EQ(Complaint([](auto& o) {
              o.ridge = o.forgetting = 1e-9;
              o.refresh = 0.999;
            }),
            "");
}

TEST(KernelsPerUpload, AreAsManyAsTheBudgetHoldsWithAllFeatures) {
  const auto kernels = [](std::size_t budget, std::size_t all = 51) {
    AlgorithmOptions options;
    options.budget = budget;
    options.kernels = all;
    return KernelsPerUpload(options);
  };
  EXPECT_EQ(kernels(0), 1U);  // which CheckOptions refuses
  EXPECT_EQ(kernels(1), 1U);
  EXPECT_EQ(kernels(199), 1U);
  EXPECT_EQ(kernels(200), 1U);
  EXPECT_EQ(kernels(399), 1U);
  EXPECT_EQ(kernels(400), 2U);
  EXPECT_EQ(kernels(999), 4U);
  EXPECT_EQ(kernels(1000), 5U);
  EXPECT_EQ(kernels(20000), 51U);
  EXPECT_EQ(kernels(1000, 3), 3U);
  EXPECT_EQ(kernels(1000, 1), 1U);
  EXPECT_EQ(kernels(1000, 0), 1U);
  EXPECT_EQ(kernels(SIZE_MAX), 51U);
}

TEST(KernelsPerUpload, FollowTheFeaturesOrAreGiven) {
  AlgorithmOptions options;
  options.features = 20;
  EXPECT_EQ(KernelsPerUpload(options), 25U);
  options.features = 400;
  EXPECT_EQ(KernelsPerUpload(options), 1U);
  options.features = 0;  // which CheckOptions refuses
  EXPECT_EQ(KernelsPerUpload(options), 51U);
  options.kernels_per_upload = 7;
  EXPECT_EQ(KernelsPerUpload(options), 7U);
}

TEST(Rate, FallsWithTheRootOfTheStepIfItIsToldSo) {
  EXPECT_EQ((Rate{0.3, Schedule::kConstant}.At(99)), 0.3);
  EXPECT_DOUBLE_EQ((Rate{0.3, Schedule::kAnytime}.At(0)), 0.3);
  EXPECT_DOUBLE_EQ((Rate{0.3, Schedule::kAnytime}.At(99)), 0.03);
}

TEST(ResolveRate, TakesAnUnsetRateFromTheHorizon) {
  EXPECT_DOUBLE_EQ(ResolveRate({}, {1, 400, 0}), 0.05);
  EXPECT_EQ(ResolveRate(0.3, {1, 400, 0}), 0.3);
}

TEST(AlgorithmOptionsHelp, IsOnePhraseOnOneLine) {
  for (const OptionDeclaration& option : kAlgorithmOptions) {
    SCOPED_TRACE(option.key);
    EXPECT_FALSE(option.help.empty());
    EXPECT_LE(option.help.size(), 200U);
    EXPECT_FALSE(option.help.ends_with('.'));
    EXPECT_EQ(option.help.find('\n'), std::string_view::npos);
    EXPECT_EQ(option.help.find("  "), std::string_view::npos);
    for (const OptionDeclaration& other : kAlgorithmOptions) {
      EXPECT_TRUE(&other == &option || other.help != option.help) << other.key;
    }
  }
}

}  // namespace
}  // namespace polykern
