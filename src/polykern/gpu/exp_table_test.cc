#include "polykern/gpu/exp_table.h"

#include <bit>
#include <cmath>

namespace polykern::gpu {
namespace {

TEST(ExpTable, HasPowersOfTwo) {
  const std::vector<ExpEntry> table = ExpTable();
  ASSERT_EQ(table.size(), 128U);
  for (U64 i = 0; i < 128; ++i) {
    const auto head = std::bit_cast<double>(table[i].bits + (i << 45));
    EXPECT_EQ(head, std::exp2(static_cast<double>(i) / 128)) << i;
    EXPECT_LE(std::abs(table[i].tail), 0x1p-53) << i;
  }
  EXPECT_EQ(table[0].tail, 0);
  // The square of 2^(i/128) to twice a double's precision: H^2 (1 + 2 tail).
  for (U64 i = 1; i < 64; ++i) {
    const auto head = std::bit_cast<double>(table[i].bits + (i << 45));
    const auto twice = std::bit_cast<double>(table[2 * i].bits + (2 * i << 45));
    const double square = head * head;
    const double rest = (square - twice) + std::fma(head, head, -square);
    EXPECT_NEAR(rest / twice + 2 * table[i].tail, table[2 * i].tail, 0x1p-103) << i;
  }
}

TEST(ExpTable, IsRoundedOnce) {
  // 2^(1/128) and 2^(1/2) to 40 digits, less their doubles, divided by these.
  const std::vector<ExpEntry> table = ExpTable();
  EXPECT_EQ(table[1].tail, 0x1.b3b4f1a88bf6ep-54);
  EXPECT_EQ(table[64].tail, -0x1.3b3efbf5e2228p-54);
}

}  // namespace
}  // namespace polykern::gpu
