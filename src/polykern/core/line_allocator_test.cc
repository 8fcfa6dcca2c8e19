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

TEST(LineAllocator, LetsLargeVectorsBeginAtAHugePageAndFreesThem) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  for (const std::size_t bytes : {2 * kHugePage - 1, 2 * kHugePage, 5 * kHugePage + 3}) {
    std::vector<char, LineAllocator<char>> letters(bytes, 'x');
    const auto place = reinterpret_cast<std::uintptr_t>(letters.data());
    EXPECT_EQ(place % (bytes < 2 * kHugePage ? 64 : kHugePage), 0U) << bytes;
    EXPECT_EQ(letters.back(), 'x');
  }
}

}  // namespace
}  // namespace polykern
