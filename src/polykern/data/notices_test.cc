#include "polykern/data/notices.h"

#include <gmock/gmock.h>

#include "polykern/core/error.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A table of one column of numbers.
Table OneColumn(const std::string& name, const std::vector<double>& values) {
  Table table;
  table.paths = {"some.csv"};
  table.columns = {name};
  table.labels = {{}};
  table.values = values;
  table.file.assign(values.size(), 0);
  for (std::uint32_t row = 0; row < values.size(); ++row) table.line.push_back(row + 2);
  return table;
}

std::vector<std::string> Notices(const std::string& name, const std::vector<double>& values,
                                 const std::vector<std::string>& ranged = {}) {
  const std::vector<std::size_t> first = {0};
  std::vector<std::string> shown;
  for (const std::string& text : NoticeColumns(OneColumn(name, values), first, ranged)) {
    shown.emplace_back(Error(text).what());
  }
  return shown;
}

TEST(Notices, SayWhereAnOutlierIs) {
  std::vector<double> values = {0, 0, -1, 2, 3.5, 2, 1, 2, 3, 2, 1e300, 2};
  EXPECT_THAT(
      Notices("a", values),
      ElementsAre("some.csv, line 12, column \"a\": 1e+300 is far from the other values and "
                  "sets the scale; correct it, or declare the range with range"));
  EXPECT_THAT(Notices("a", values, {"a"}), IsEmpty());  // its range is declared
  values[10] = 2000;
  EXPECT_THAT(Notices("a", values), IsEmpty());
  EXPECT_THAT(Notices("a", {1, 2, 1e300}), IsEmpty());  // too few to tell
}

TEST(Notices, SayThatAColumnNumbersTheRows) {
  std::vector<double> values;
  for (int i = 0; i < 12; ++i) values.push_back(100 - i);
  EXPECT_THAT(Notices("id", values), ElementsAre(HasSubstr("leave it out with exclude=id")));
  EXPECT_THAT(Notices("power", values), IsEmpty());
  values[3] = values[4];
  EXPECT_THAT(Notices("id", values), IsEmpty());
  values[3] = 0.5;
  EXPECT_THAT(Notices("id", values), IsEmpty());
}

TEST(Notices, KnowTheNamesOfNumberings) {
  for (const char* name : {"id", "ID", "Index", "row_id", "StationID", "No", "Unnamed: 0"}) {
    EXPECT_TRUE(IsIdName(name)) << name;
  }
  for (const char* name : {"humid", "node", "grid", "NO2", "notes"}) {
    EXPECT_FALSE(IsIdName(name)) << name;
  }
}

TEST(Notices, SayWhichColumnsAreConstant) {
  EXPECT_THAT(
      Notices("c", {7, 7, 7}),
      ElementsAre("column \"c\" has the same value in every row and tells nothing; leave it "
                  "out with exclude=c"));
  Table many = OneColumn("a", {1, 1, 1, 1});
  many.columns = {"a", "b", "c", "d"};
  many.labels.resize(4);
  many.line = {2};
  const std::vector<std::size_t> all = {0, 1, 2, 3};
  EXPECT_THAT(NoticeColumns(many, all, {}),
              ElementsAre(HasSubstr("columns \"a\", \"b\", \"c\" and 1 more have the same value")));
}

TEST(Notices, SayThatEveryClientHasOneRow) {
  const std::vector<std::uint32_t> each = {0, 1, 2};
  EXPECT_THAT(NoticeClients(OrderRows(each, 3, {}), "who"),
              HasSubstr("column \"who\" has a different value"));
  const std::vector<std::uint32_t> two = {0, 1, 1};
  EXPECT_EQ(NoticeClients(OrderRows(two, 2, {}), "who"), "");
}

}  // namespace
}  // namespace polykern
