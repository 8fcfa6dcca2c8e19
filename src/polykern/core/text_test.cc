#include "polykern/core/text.h"

#include <vector>

#include <gmock/gmock.h>

namespace polykern {
namespace {

TEST(Text, CountsTheEditsBetweenTwoWords) {
  EXPECT_EQ(EditDistance("", ""), 0U);
  EXPECT_EQ(EditDistance("abc", ""), 3U);
  EXPECT_EQ(EditDistance("", "abc"), 3U);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3U);
  EXPECT_EQ(EditDistance("no2", "NO2"), 0U);
}

TEST(Text, OffersTheNearestNames) {
  const std::vector<std::string> names = {"year", "NO2", "O3", "SO2", "TEMP"};
  EXPECT_EQ(Suggest("NO3", names), "did you mean \"NO2\" or \"O3\"?");
  EXPECT_EQ(Suggest("temp", names), "did you mean \"TEMP\"?");
}

TEST(Text, ListsTheFirstNamesWhenNoneIsNear) {
  const std::vector<std::string> few = {"a1", "b1"};
  EXPECT_EQ(Suggest("pressure", few), "choose one of \"a1\", \"b1\"");
  const std::vector<std::string> many(20, "w");
  EXPECT_THAT(Suggest("pressure", many), testing::EndsWith("\"w\", .. (20 in all)"));
}

TEST(Text, QuotesOnOneShortLine) {
  EXPECT_EQ(Quoted("NNW"), "\"NNW\"");
  EXPECT_EQ(Quoted("a\nb\tc"), "\"a?b?c\"");
  EXPECT_EQ(Quoted(std::string(40, 'x')), "\"" + std::string(30, 'x') + "..\"");
}

TEST(Text, QuotesForAShellOnlyWhatNeedsIt) {
  EXPECT_EQ(ShellWord("data/a-b_c.csv"), "data/a-b_c.csv");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellWord("my data"), "'my data'");
  EXPECT_EQ(ShellWord("it's"), "'it'\\''s'");
}

TEST(Text, NeverCutsACharacterInTwo) {
  const std::string text = std::string(29, 'x') + "\xC3\xA4\xC3\xA4";
  EXPECT_EQ(Quoted(text), "\"" + std::string(29, 'x') + "..\"");
}

TEST(ExactText, BringsBackEveryBit) {
  for (const double value : {0.1, 1.0 / 3, -1e-300, 5e-324, 1e300, 0.0}) {
    double back = 7;
    EXPECT_TRUE(ReadExact(ExactText(value), back));
    EXPECT_EQ(back, value);
  }
  EXPECT_EQ(ExactText(std::size_t{51}), "51");
  EXPECT_EQ(ExactText(1e-4), "1e-04");
  std::size_t count = 0;
  for (const char* text : {"", "-1", "7 ", " 7", "1.5", "99999999999999999999"}) {
    EXPECT_FALSE(ReadExact(text, count)) << text;
  }
}

}  // namespace
}  // namespace polykern
