#include "polykern/algorithms/options.h"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"

namespace polykern {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What CheckOptions says about the default options after a change; empty if nothing.
template <typename Change>
std::string Complaint(Change change) {
  AlgorithmOptions options;
  change(options);
  try {
    CheckOptions(options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::size_t FeaturesFor(std::size_t per_upload) {
  AlgorithmOptions options;
  options.kernels_per_upload = per_upload;
  return ResolveFeatures(options);
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
  EXPECT_EQ(ResolveFeatures(options), 7U);
  options.features = 400;
  EXPECT_EQ(ResolveFeatures(options), 400U);
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
              AllOf(HasSubstr("--kernels is 0"), HasSubstr("between 1 and 100000")));
}

TEST(CheckOptions, RefusesToUploadNoneOrMoreKernelsThanThereAre) {
  EXPECT_THAT(Complaint([](auto& o) { o.kernels_per_upload = 0; }),
              AllOf(HasSubstr("--kernels-per-upload is 0"), HasSubstr("at least 1")));
  EXPECT_THAT(Complaint([](auto& o) { o.kernels_per_upload = 52; }),
              AllOf(HasSubstr("--kernels-per-upload is 52"), HasSubstr("only 51")));
}

TEST(CheckOptions, RefusesABudgetThatHoldsNothing) {
  EXPECT_THAT(Complaint([](auto& o) { o.budget = 0; }), HasSubstr("--budget is 0"));
  EXPECT_THAT(Complaint([](auto& o) { o.budget = 1; }), HasSubstr("--budget"));
  EXPECT_THAT(Complaint([](auto& o) {
                o.kernels_per_upload = 51;
                o.budget = 101;
              }),
              AllOf(HasSubstr("--kernels-per-upload is 51"), HasSubstr("102 numbers"),
                    HasSubstr("budget of 101")));
}

TEST(CheckOptions, RefusesNoFeaturesAndFeaturesOverTheBudget) {
  EXPECT_THAT(Complaint([](auto& o) { o.features = 0; }), HasSubstr("--features is 0"));
  EXPECT_THAT(
      Complaint([](auto& o) { o.features = 501; }),
      AllOf(HasSubstr("--features is 501"), HasSubstr("budget of 1000"), HasSubstr("allows 500")));
  EXPECT_THAT(
      Complaint([](auto& o) {
        o.kernels_per_upload = 25;
        o.features = 21;
      }),
      AllOf(HasSubstr("--features is 21"), HasSubstr("25 kernels"), HasSubstr("allows 20")));
}

TEST(CheckOptions, RefusesExplorationOutsideItsRange) {
  for (const double bad : {0.0, -0.1, 1.0001, kInfinity, kNan}) {
    EXPECT_THAT(Complaint([=](auto& o) { o.exploration = bad; }),
                AllOf(HasSubstr("--exploration is "), HasSubstr("(0, 1]")))
        << bad;
  }
}

TEST(CheckOptions, RefusesRatesThatAreNotPositive) {
  for (const double bad : {0.0, -1.0, kInfinity, kNan}) {
    EXPECT_THAT(Complaint([=](auto& o) { o.learning_rate = bad; }), HasSubstr("--learning-rate is"))
        << bad;
    EXPECT_THAT(Complaint([=](auto& o) { o.weight_rate = bad; }), HasSubstr("--weight-rate is"))
        << bad;
  }
}

TEST(CheckOptions, RefusesNegativeRegularization) {
  for (const double bad : {-1e-9, kInfinity, kNan}) {
    EXPECT_THAT(Complaint([=](auto& o) { o.regularization = bad; }),
                HasSubstr("--regularization is"))
        << bad;
  }
}

TEST(CheckOptions, RefusesSharedDrawsWhereTheyCannotBe) {
  EXPECT_EQ(Complaint([](auto& o) { o.shared_draws = true; }), "");
  EXPECT_THAT(Complaint([](auto& o) {
                o.shared_draws = true;
                o.dictionary = "mixed";
              }),
              AllOf(HasSubstr("--dictionary is mixed"), HasSubstr("--shared-draws")));
  EXPECT_THAT(Complaint([](auto& o) { o.shared_draws = o.orthogonal = true; }),
              HasSubstr("--shared-draws"));
}

TEST(CheckOptions, RefusesAHuberDeltaThatIsNotPositive) {
  for (const double bad : {0.0, -0.1, kInfinity, kNan}) {
    EXPECT_THAT(Complaint([=](auto& o) { o.loss.delta = bad; }), HasSubstr("--huber-delta is"))
        << bad;
  }
}

}  // namespace
}  // namespace polykern
