#include "polykern/data/stream.h"

#include <gmock/gmock.h>

namespace polykern {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr ArrayShape kShape = {3, 4, 2};

/// The number that stands at (step, client, column), exact in float.
double Number(std::size_t step, std::size_t client, std::size_t column) {
  return static_cast<double>(100 * step + 10 * client + column) + 0.5;
}

/// x and y in memory with the given order of the axes, the innermost last, and gaps in between.
template <typename T>
struct Memory {
  explicit Memory(std::array<std::size_t, 3> order) {
    const std::array<std::size_t, 3> sizes = {kShape.steps, kShape.clients, kShape.dimension};
    std::size_t distance = 2;  // every second number belongs to somebody else
    for (std::size_t i = 3; i-- > 0; distance *= sizes[order[i]]) {
      x.strides[order[i]] = static_cast<std::ptrdiff_t>(distance * sizeof(T));
    }
    numbers.assign(distance, -7);
    for (std::size_t t = 0; t < kShape.steps; ++t) {
      for (std::size_t k = 0; k < kShape.clients; ++k) {
        for (std::size_t c = 0; c < kShape.dimension; ++c) {
          const auto place =
              static_cast<std::size_t>(static_cast<std::ptrdiff_t>(t) * x.strides[0] +
                                       static_cast<std::ptrdiff_t>(k) * x.strides[1] +
                                       static_cast<std::ptrdiff_t>(c) * x.strides[2]);
          numbers[place / sizeof(T)] = static_cast<T>(Number(t, k, c));
        }
      }
    }
    x.data = reinterpret_cast<const std::byte*>(numbers.data());
    x.is_double = sizeof(T) == 8;
    y = x;  // the first column, once more
  }
  std::vector<T> numbers;
  ArrayView x;
  ArrayView y;
};

template <typename T>
void ExpectEverySample(std::array<std::size_t, 3> order) {
  const Memory<T> memory(order);
  const ArrayStream stream(kShape, memory.x, memory.y);
  EXPECT_EQ(stream.steps(), 3U);
  EXPECT_EQ(stream.clients(), 4U);
  EXPECT_EQ(stream.dimension(), 2U);
  SampleBlock block;
  for (std::size_t step = 0; step < 3; ++step) {
    for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{0, 4}, {1, 2}, {3, 1}}) {
      stream.Read(step, first, count, block);
      ASSERT_EQ(block.x.size(), 2 * count);
      EXPECT_THAT(block.present, Each(1));
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(block.y[i], Number(step, first + i, 0));
        for (std::size_t c = 0; c < 2; ++c) {
          EXPECT_EQ(block.x[2 * i + c], static_cast<float>(Number(step, first + i, c)));
        }
      }
    }
  }
}

TEST(ArrayStream, ReadsFloatsAndDoublesInAnyOrderOfTheAxes) {
  for (const auto& order :
       std::vector<std::array<std::size_t, 3>>{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {2, 0, 1}}) {
    ExpectEverySample<float>(order);
    ExpectEverySample<double>(order);
  }
}

TEST(ArrayStream, GivesZerosForClientsThatAreNotThere) {
  const Memory<double> memory({0, 1, 2});
  std::vector<std::uint8_t> present(12, 1);
  present[4 + 1] = 0;
  const ArrayStream stream(kShape, memory.x, memory.y, present);
  SampleBlock block;
  stream.Read(1, 0, 3, block);
  EXPECT_THAT(block.present, ElementsAre(1, 0, 1));
  EXPECT_THAT(block.x, ElementsAre(100.5F, 101.5F, 0, 0, 120.5F, 121.5F));
  EXPECT_THAT(block.y, ElementsAre(100.5, 0, 120.5));
}

}  // namespace
}  // namespace polykern
