#include "polykern/core/packed_kernels.h"

#include <vector>

#include <gtest/gtest.h>

#include "polykern/core/kernels.h"

namespace polykern {
namespace {

TEST(PackedKernels, HoldsEveryFrequencyOnceAndZerosElsewhere) {
  const KernelBank bank(MakeDictionary("gaussian", 6), 3, 7, 5);  // neither N nor D fill vectors
  const PackedKernels packed(bank);
  ASSERT_EQ(packed.groups(), 2U);
  ASSERT_EQ(packed.row_vectors(), 2U);
  EXPECT_FALSE(packed.shared());
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      for (std::size_t c = 0; c < 3; ++c) {
        const FloatLanes& lanes = packed.Group(i / 4)[c * 2 + j / 4];
        const float expected = i < 6 && j < 7 ? bank.Frequencies(i)[j * 3 + c] : 0;
        EXPECT_EQ(lanes.lane[i % 4 * 4 + j % 4], expected) << i << " " << j << " " << c;
      }
    }
  }
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(packed.LongestFrequency(i), bank.LongestFrequency(i));
  }
}

TEST(PackedKernels, HoldsASharedDrawAlone) {
  const KernelBank bank(MakeDictionary("gaussian", 5), 2, 17, 5, Draw::kShared);
  const PackedKernels packed(bank);
  ASSERT_TRUE(packed.shared());
  ASSERT_EQ(packed.shared_vectors(), 2U);
  for (std::size_t j = 0; j < 32; ++j) {
    for (std::size_t c = 0; c < 2; ++c) {
      const float expected = j < 17 ? bank.SharedFrequencies()[j * 2 + c] : 0;
      EXPECT_EQ(packed.Shared()[c * 2 + j / 16].lane[j % 16], expected);
    }
  }
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(packed.Scale(i), bank.Scales()[i]);
}

}  // namespace
}  // namespace polykern
