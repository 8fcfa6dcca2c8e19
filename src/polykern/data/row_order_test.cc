#include "polykern/data/row_order.h"

#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/random.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;

TEST(RowOrder, IsThatOfTheFileWithoutTimes) {
  const std::vector<std::uint32_t> client = {1, 0, 1, 3, 0};
  const RowOrder order = OrderRows(client, 4, {});
  EXPECT_THAT(order.Of(0), ElementsAre(1, 4));
  EXPECT_THAT(order.Of(1), ElementsAre(0, 2));
  EXPECT_THAT(order.Of(2), IsEmpty());
  EXPECT_THAT(order.Of(3), ElementsAre(3));
}

TEST(RowOrder, SortsByTimeAndLeavesOutWhatIsDoubled) {
  const std::vector<std::uint32_t> client = {0, 0, 0, 1, 0, 1};
  const std::vector<double> time = {30, 10, 20, 10, 10, 10};
  const RowOrder order = OrderRows(client, 2, time);
  EXPECT_THAT(order.Of(0), ElementsAre(1, 2, 0));  // row 4 has the time of row 1
  EXPECT_THAT(order.Of(1), ElementsAre(3));
  EXPECT_EQ(order.doubled, 2U);
  EXPECT_EQ(order.unsorted, 2U);
}

TEST(RowOrder, IsWhatASlowSortGives) {
  Random random(1, Purpose::kTest);
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t rows = random.Below(60);
    std::vector<std::uint32_t> client;
    std::vector<double> time;
    std::vector<std::map<double, std::uint32_t>> expected(5);
    for (std::uint32_t row = 0; row < rows; ++row) {
      client.push_back(static_cast<std::uint32_t>(random.Below(5)));
      time.push_back(static_cast<double>(random.Below(40)));
      expected[client.back()].emplace(time.back(), row);  // the first stays
    }
    const RowOrder order = OrderRows(client, 5, time);
    std::size_t kept = 0;
    for (std::size_t k = 0; k < 5; ++k) {
      std::vector<std::uint32_t> wanted;
      for (const auto& [_, row] : expected[k]) wanted.push_back(row);
      EXPECT_THAT(order.Of(k), ElementsAreArray(wanted));
      kept += wanted.size();
    }
    EXPECT_EQ(order.doubled, rows - kept);
  }
}

}  // namespace
}  // namespace polykern
