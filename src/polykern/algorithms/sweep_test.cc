#include "polykern/algorithms/sweep.h"

#include <gtest/gtest.h>

#include "polykern/algorithms/option_values.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"

namespace polykern {
namespace {

Sweep Made(std::initializer_list<std::pair<const char*, const char*>> given) {
  Sweep sweep;
  for (const auto& [key, text] : given) sweep.Set(*FindOption(key), text);
  return sweep;
}

TEST(Sweep, WithoutValuesIsTheBaseAlone) {
  AlgorithmOptions base;
  base.ridge = 0.5;
  const auto rows = Sweep().Of("pof-newton", base);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].ridge, 0.5);
}

TEST(Sweep, OfTwoListsIsTheirProductTheLaterOptionChangingFastest) {
  const Sweep sweep = Made({{"forgetting", "0.99,auto"}, {"kernels_per_upload", "1,5"}});
  const auto rows = sweep.Of("pof-newton", {});
  ASSERT_EQ(rows.size(), 4U);
  const std::vector<std::pair<std::size_t, double>> wanted = {
      {1, 0.99}, {1, kAutoForgetting}, {5, 0.99}, {5, kAutoForgetting}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].kernels_per_upload, wanted[i].first);
    EXPECT_EQ(rows[i].forgetting, wanted[i].second);
  }
}

TEST(Sweep, GivesOneAlgorithmOtherValuesThanTheRest) {
  const Sweep sweep = Made({{"kernels_per_upload", "25,pof-newton=2,pof-newton=5"}});
  EXPECT_EQ(sweep.Of("pof-mkl", {}).at(0).kernels_per_upload, 25U);
  const auto newton = sweep.Of("pof-newton", {});
  ASSERT_EQ(newton.size(), 2U);
  EXPECT_EQ(newton[0].kernels_per_upload, 2U);
  EXPECT_EQ(newton[1].kernels_per_upload, 5U);
  const Sweep alone = Made({{"kernels_per_upload", "pof-newton=2"}});
  EXPECT_TRUE(alone.Has("pof-newton", "kernels_per_upload"));
  EXPECT_FALSE(alone.Has("pof-mkl", "kernels_per_upload"));
  EXPECT_FALSE(alone.Of("pof-mkl", {}).at(0).kernels_per_upload);
}

TEST(Sweep, MakesNoRowsOfAListThatTheAlgorithmDoesNotUse) {
  const Sweep sweep = Made({{"forgetting", "0.99,0.999"}, {"ridge", "0.25"}});
  const auto rows = sweep.Of("pof-mkl", {});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].forgetting, AlgorithmOptions().forgetting);
  EXPECT_EQ(rows[0].ridge, 0.25);
}

TEST(Sweep, TakesAListForEveryNumberAndForNothingElse) {
  for (const OptionDeclaration& option : kAlgorithmOptions) {
    const std::string complaint = SweepComplaint(option, "1,2");
    EXPECT_EQ(complaint.empty(), IsNumber(option) || option.key == "dictionary") << option.key;
  }
  EXPECT_EQ(SweepComplaint(*FindOption("experts"), "federated,local"), "");
  EXPECT_FALSE(OptionComplaint(*FindOption("learning_rate"), "0.1,0.2").empty());
}

TEST(Sweep, SaysWhatIsWrongWithAList) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"", "'' lacks a value"},
      {"0.1,,0.2", "'0.1,,0.2' lacks a value"},
      {"0.1,", "'0.1,' lacks a value"},
      {"pof-mkl=", "'pof-mkl=' lacks a value"},
      {"0.1,x", "'x' is not a number"},
      {"0.1,1e-1", "'0.1,1e-1' has 0.1 twice"},
      {"pof-mkl=0.1,pof-mkl=0.1", "'pof-mkl=0.1,pof-mkl=0.1' has 0.1 twice"},
      {"pof-mlk=0.1", "there is no algorithm \"pof-mlk\"; did you mean \"pof-mkl\"?"},
      {"local-rls=0.1", "local-rls does not use it"}};
  for (const auto& [text, wanted] : bad) {
    EXPECT_EQ(SweepComplaint(*FindOption("learning_rate"), text), wanted);
  }
  EXPECT_EQ(SweepComplaint(*FindOption("learning_rate"), "0.1,pof-mkl=0.1,local=0.1"), "");
  EXPECT_THROW(Made({{"learning_rate", "0.1,"}}), Error);
}

TEST(Sweep, RefusesValuesOfAnAlgorithmThatIsNotRun) {
  const Sweep sweep = Made({{"kernels_per_upload", "pof-newton=2"}});
  sweep.CheckAlgorithms(std::vector<std::string>{"pof-mkl", "pof-newton"});
  EXPECT_THROW(sweep.CheckAlgorithms(std::vector<std::string>{"pof-mkl"}), Error);
}

}  // namespace
}  // namespace polykern
