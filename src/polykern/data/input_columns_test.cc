#include "polykern/data/input_columns.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "polykern/core/error.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A number "t" and a text "wd" whose codes are given.
Table MakeTable(const std::vector<double>& numbers, const std::vector<double>& codes,
                std::vector<std::string> labels) {
  Table table;
  table.columns = {"t", "wd"};
  table.labels = {{}, std::move(labels)};
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    table.values.insert(table.values.end(), {numbers[row], codes[row]});
    table.line.push_back(static_cast<std::uint32_t>(row + 2));
  }
  return table;
}

const std::vector<std::size_t> kBoth = {0, 1};
const std::vector<std::string> kWind = {"wd"};

std::vector<double> RowOf(const InputColumns& inputs, std::size_t row) {
  std::vector<double> values(inputs.names().size());
  inputs.Fill(row, values);
  return values;
}

TEST(InputColumns, MarkEachTextByAnInputOfItsOwn) {
  const Table table = MakeTable({5, 6, 7}, {0, 1, 0}, {"N", "SE"});
  const InputColumns inputs(table, kBoth, kWind, Categories::kOneHot);
  EXPECT_THAT(inputs.names(), ElementsAre("t", "wd=N", "wd=SE"));
  EXPECT_THAT(inputs.marks(), ElementsAre("wd=N", "wd=SE"));
  EXPECT_THAT(RowOf(inputs, 0), ElementsAre(5, 1, 0));
  EXPECT_THAT(RowOf(inputs, 1), ElementsAre(6, 0, 1));
}

TEST(InputColumns, KeepCodesIfTold) {
  const Table table = MakeTable({5, 6}, {0, 1}, {"N", "SE"});
  const InputColumns inputs(table, kBoth, kWind, Categories::kCode);
  EXPECT_THAT(inputs.names(), ElementsAre("t", "wd"));
  EXPECT_THAT(inputs.marks(), IsEmpty());
  EXPECT_THAT(RowOf(inputs, 1), ElementsAre(6, 1));
}

TEST(InputColumns, ShareInputsByHashBeyondThirtyTwoTexts) {
  std::vector<std::string> labels;
  std::vector<double> codes;
  for (std::size_t i = 0; i < kMostOneHot; ++i) {
    labels.push_back("w" + std::to_string(i));
    codes.push_back(static_cast<double>(i));
  }
  const Table most = MakeTable(codes, codes, labels);
  EXPECT_EQ(InputColumns(most, kBoth, kWind, Categories::kOneHot).names().back(), "wd=w31");
  labels.emplace_back("w32");
  codes.push_back(32);
  const Table more = MakeTable(codes, codes, labels);
  const InputColumns inputs(more, kBoth, kWind, Categories::kOneHot);
  EXPECT_THAT(inputs.names(), SizeIs(1 + kMostOneHot));
  EXPECT_EQ(inputs.names().back(), "wd#31");
  for (std::size_t row = 0; row < more.rows(); ++row) {
    const std::vector<double> values = RowOf(inputs, row);
    double sum = 0;
    for (std::size_t i = 1; i < values.size(); ++i) sum += values[i];
    EXPECT_EQ(sum, 1);
  }
}

TEST(InputColumns, MarkWhereAValueIsMissing) {
  const Table table = MakeTable({5, kNan, 7}, {0, 1, kNan}, {"N", "S"});
  const InputColumns inputs(table, kBoth, kWind, Categories::kOneHot);
  EXPECT_THAT(inputs.names(), ElementsAre("t", "wd=N", "wd=S", "t.missing", "wd.missing"));
  EXPECT_THAT(RowOf(inputs, 0), ElementsAre(5, 1, 0, 0, 0));
  EXPECT_THAT(RowOf(inputs, 1), ElementsAre(testing::IsNan(), 0, 1, 1, 0));
  EXPECT_THAT(RowOf(inputs, 2), ElementsAre(7, 0, 0, 0, 1));
}

TEST(InputColumns, RefuseAColumnWithoutValuesAndANameTwice) {
  const Table empty = MakeTable({kNan, kNan}, {0, 1}, {"N", "S"});
  EXPECT_THAT(MessageOf([&] { InputColumns(empty, kBoth, kWind, Categories::kCode); }),
              HasSubstr("column \"t\" has no value in any row; leave it out with exclude=t"));
  Table twice = MakeTable({1, 2}, {0, 1}, {"N", "S"});
  twice.columns[0] = "wd=N";
  EXPECT_THAT(MessageOf([&] { InputColumns(twice, kBoth, kWind, Categories::kOneHot); }),
              HasSubstr("two inputs are called \"wd=N\""));
}

TEST(InputColumns, HaveNamesForTheirForms) {
  for (const Categories form : {Categories::kCode, Categories::kOneHot}) {
    EXPECT_EQ(ParseCategories(CategoriesName(form)), form);
  }
  EXPECT_THAT(MessageOf([] { ParseCategories("hot"); }), HasSubstr("there are: code, onehot"));
}

TEST(ImputeMeans, TakesTheMeanOfWhatWasSeenBefore) {
  const auto nan = static_cast<float>(kNan);
  std::vector<float> x = {nan, 1, 2, nan, nan, 5, 6, nan};
  const std::vector<std::uint32_t> rows = {0, 1, 2, 3};
  ImputeMeans(rows, 2, x);
  EXPECT_THAT(x, ElementsAre(0, 1, 2, 1, 2, 5, 6, 3));
}

TEST(ImputeMeans, GoesByTheOrderGivenAndLeavesOtherRowsAlone) {
  const auto nan = static_cast<float>(kNan);
  std::vector<float> x = {nan, 4, nan, 8};
  const std::vector<std::uint32_t> rows = {3, 0};
  ImputeMeans(rows, 1, x);
  EXPECT_EQ(x[0], 8);
  EXPECT_TRUE(std::isnan(x[2]));
}

}  // namespace
}  // namespace polykern
