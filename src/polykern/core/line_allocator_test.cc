#include "polykern/core/line_allocator.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace polykern {
namespace {

TEST(LineAllocator, LetsVectorsOfAnySizeBeginAtALineOfTheCache) {
  for (std::size_t count = 1; count < 200; count += 7) {
    std::vector<float, LineAllocator<float>> numbers(count, 1.5F);
    std::vector<char, LineAllocator<char>> letters(count, 'x');
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(numbers.data()) % 64, 0U) << count;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(letters.data()) % 64, 0U) << count;
    numbers.resize(3 * count, 2.5F);  // moves, and keeps what was there
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(numbers.data()) % 64, 0U) << count;
    EXPECT_EQ(numbers[count - 1], 1.5F);
    EXPECT_EQ(numbers[count], 2.5F);
  }
}

}  // namespace
}  // namespace polykern
