#include "polykern/algorithms/gram/gram_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace polykern {
namespace {

TEST(GramGrid, HasEverySizeUpToTheBanks) {
  const GramGrid grid(3, 21);
  EXPECT_EQ(grid.sizes(), 3U);
  EXPECT_EQ(grid.experts(), 9U);
  EXPECT_EQ(grid.KernelOf(5), 1U);
  EXPECT_EQ(grid.SizeOf(5), 21U);
  EXPECT_EQ(grid.WidthOf(4), 20U);
  EXPECT_TRUE(grid.HasSmaller(5));
  EXPECT_FALSE(grid.HasSmaller(3));
  EXPECT_EQ(grid.model_width(), 2 * (5 + 10 + 21U));
  EXPECT_EQ(grid.ThetaStart(5), 72 + 30U);
}

TEST(GramGrid, CountsTheNumbersOfItsSums) {
  const GramGrid grid(3, 21);
  EXPECT_EQ(grid.NumbersOf(0), 55 + 10 + 1 + 9U);  // the triangle, b, the squares, the weights
  EXPECT_EQ(grid.NumbersOf(1), 210 + 20 + 1 + 9U);
  const ModelShape shape = grid.Shape(5000);
  EXPECT_EQ(shape.model_size(), 3 * 72U);
  EXPECT_EQ(shape.update_kinds(), 9U);
  EXPECT_EQ(shape.update_size(), 5000U);
  EXPECT_EQ(shape.NumbersOf(8), 42 * 45 / 2 + 1 + 9U);
  EXPECT_EQ(shape.ring.bits, 64U);
}

TEST(GramGrid, WithNoiseHasOneKernelAndOnlyWhatIsNotKnownAnyway) {
  const GramGrid grid = GramGrid::Noisy(21);
  EXPECT_TRUE(grid.noisy());
  EXPECT_EQ(grid.experts(), 1U);
  EXPECT_EQ(grid.features(), 21U);
  EXPECT_EQ(grid.NumbersOf(0), 42 * 43 / 2 + 42 - 21U);  // the triangle, b; of pairs two of three
  const ModelShape shape = grid.Shape(5000);
  EXPECT_EQ(shape.model_size(), 42U);
  EXPECT_EQ(shape.ring.unit, GramGrid::kNoisyUnit);
  EXPECT_FALSE(GramGrid(3, 21).noisy());
}

TEST(GramGrid, FindsRowsByTheirStart) {
  for (const std::size_t width : {2U, 10U, 42U}) {
    std::size_t start = 0;
    for (std::size_t i = 0; i < width; ++i) {
      EXPECT_EQ(GramGrid::RowStart(width, i), start);
      start += width - i + 1;
    }
    EXPECT_EQ(GramGrid::EquationsSize(width), start);
  }
}

TEST(GramGrid, TakesTheLargestSizeThatFitsTheSavings) {
  AlgorithmOptions options;
  EXPECT_EQ(GramGrid::LargestSize(5, options), 100U);  // 20326 of 21000 numbers
  options.burst = 20;
  EXPECT_EQ(GramGrid::LargestSize(5, options), 45U);
  options.burst = 1;
  EXPECT_EQ(GramGrid::LargestSize(5, options), 21U);
  options.budget = 70;
  EXPECT_EQ(GramGrid::LargestSize(5, options), 0U);
  options.budget = SIZE_MAX;
  options.burst = 1 << 20;
  EXPECT_EQ(GramGrid::LargestSize(5, options), 100U);
}

}  // namespace
}  // namespace polykern
