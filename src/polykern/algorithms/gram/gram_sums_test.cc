#include "polykern/algorithms/gram/gram_sums.h"

#include <algorithm>
#include <cmath>

#include "polykern/algorithms/broken_rule.h"
#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/gram/gram_server.h"
#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/kernels.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

using twin::Vector;

std::shared_ptr<const KernelBank> GramBank(std::size_t features = 21) {
  return std::make_shared<const KernelBank>(MakeDictionary("gaussian", 2), twin::kDimension,
                                            features, 5);
}

LearntSamples DrawSamples(std::size_t count, std::uint64_t seed = 1) {
  Random random(seed, Purpose::kTest);
  LearntSamples samples;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < twin::kDimension; ++j) {
      samples.x.push_back(static_cast<float>(random.Uniform()));
    }
    samples.y.push_back(random.Uniform());
  }
  return samples;
}

class Sums : public testing::Test {
 protected:
  std::vector<std::uint64_t> Of(std::size_t expert, const LearntSamples& samples) {
    std::vector<std::uint64_t> integers;
    sums_.Append(expert, samples, weights_, integers);
    EXPECT_EQ(integers.size(), grid_.NumbersOf(expert));
    return integers;
  }

  std::shared_ptr<const KernelBank> bank_ = GramBank();
  GramGrid grid_{2, 21};
  QuarteredKernels kernels_{*bank_};
  GramSums sums_{grid_, kernels_};
  Vector weights_ = {0.25, 0.25, 0.5, 0, 0, 0};
};

double Number(std::uint64_t sent) {
  return static_cast<double>(static_cast<std::int64_t>(sent)) * GramGrid::kUnit;
}

TEST_F(Sums, AgreeWithTheSlowVersion) {
  const LearntSamples samples = DrawSamples(150);
  for (std::size_t expert = 0; expert < grid_.experts(); ++expert) {
    const std::size_t size = grid_.SizeOf(expert);
    const std::size_t width = 2 * size;
    twin::Matrix a(width, Vector(width));
    Vector b(width);
    double squares = 0;
    for (std::size_t s = 0; s < samples.y.size(); ++s) {
      const Vector x(samples.x.begin() + static_cast<std::ptrdiff_t>(s * twin::kDimension),
                     samples.x.begin() + static_cast<std::ptrdiff_t>((s + 1) * twin::kDimension));
      const Vector all = twin::FeaturesOf(*bank_, grid_.KernelOf(expert), x);
      Vector z;
      for (std::size_t j = 0; j < size; ++j) {
        z.push_back(all[j]);
        z.push_back(all[21 + j]);
      }
      const double y = samples.y[s] - 0.5;
      squares += y * y;
      for (std::size_t i = 0; i < width; ++i) {
        b[i] += y * z[i];
        for (std::size_t j = i; j < width; ++j) a[i][j] += z[i] * z[j];
      }
    }
    const auto sent = Of(expert, samples);
    // Each factor is at most 0.22 and off by 2^-19 and by 2e-7 as a float.
    const double tolerance = 150 * 2 * 0.22 * (0x1p-19 + 2e-7);
    std::size_t at = 0;
    for (std::size_t i = 0; i < width; ++i) {
      for (std::size_t j = i; j < width; ++j) ASSERT_NEAR(Number(sent[at++]), a[i][j], tolerance);
      ASSERT_NEAR(Number(sent[at++]), b[i], 150 * 0x1p-18);
    }
    EXPECT_NEAR(Number(sent[at++]), squares, 150 * 0x1p-18);
    for (const double weight : weights_) EXPECT_EQ(Number(sent[at++]), weight);
  }
}

TEST_F(Sums, AreTheSumsOfTheirPartsToTheBit) {
  const LearntSamples all = DrawSamples(200);
  for (const std::size_t expert : {0U, 2U, 5U}) {
    const auto whole = Of(expert, all);
    for (const std::size_t cut : {1U, 64U, 199U}) {
      LearntSamples first{{all.x.begin(), all.x.begin() + static_cast<std::ptrdiff_t>(cut * 3)},
                          {all.y.begin(), all.y.begin() + static_cast<std::ptrdiff_t>(cut)}};
      LearntSamples rest{{all.x.begin() + static_cast<std::ptrdiff_t>(cut * 3), all.x.end()},
                         {all.y.begin() + static_cast<std::ptrdiff_t>(cut), all.y.end()}};
      const auto one = Of(expert, first);
      const auto other = Of(expert, rest);
      for (std::size_t i = 0; i < whole.size() - grid_.experts(); ++i) {
        ASSERT_EQ(one[i] + other[i], whole[i]);
      }
    }
  }
}

TEST_F(Sums, OfALargerSizeHoldThoseOfASmallerOne) {
  const LearntSamples samples = DrawSamples(33);
  const auto large = Of(2, samples);
  const auto small = Of(0, samples);
  for (std::size_t i = 0; i < 10; ++i) {
    for (std::size_t j = 0; j < 10 - i; ++j) {
      EXPECT_EQ(small[GramGrid::RowStart(10, i) + j], large[GramGrid::RowStart(42, i) + j]);
    }
    EXPECT_EQ(small[GramGrid::RowStart(10, i) + 10 - i], large[GramGrid::RowStart(42, i) + 42 - i]);
  }
}

TEST_F(Sums, TakeLabelsWithinTheirRange) {
  LearntSamples samples = DrawSamples(4);
  samples.y = {-3, 0, 1, 9};
  LearntSamples clipped = samples;
  clipped.y = {0, 0, 1, 1};
  EXPECT_EQ(Of(1, samples), Of(1, clipped));
}

class Checks : public Sums {
 protected:
  Updates Message(std::size_t expert) {
    Updates updates;
    updates.step = 7;
    updates.clients = {3};
    updates.first = {0, 1};
    updates.blocks = {static_cast<std::uint32_t>(expert)};
    updates.samples = {40};
    updates.unknowns = {160};
    updates.new_unknowns = {20};
    updates.fresh = {{40, 160}};
    updates.integers = Of(expert, DrawSamples(40));
    return updates;
  }
  std::string Broken(const Updates& updates) const {
    try {
      CheckGramSums(grid_, 512, updates);
    } catch (const BrokenRule& broken) {
      EXPECT_THAT(broken.what(), testing::HasSubstr("client 3 for step 7"));
      return broken.what();
    }
    return "";
  }
};

TEST_F(Checks, PassWhatClientsSend) {
  for (std::size_t expert = 0; expert < grid_.experts(); ++expert) {
    EXPECT_EQ(Broken(Message(expert)), "");
  }
}

TEST_F(Checks, LookAtNothingButCountsWhereMasksHideTheRest) {
  Updates updates = Message(1);
  updates.integers.assign(updates.integers.size(), UINT64_MAX / 3);
  EXPECT_NE(Broken(updates), "");
  updates.nonces = {{}};
  EXPECT_EQ(Broken(updates), "");
  updates.samples[0] = 513;
  EXPECT_NE(Broken(updates), "");
}

TEST_F(Checks, RefuseWhatNoSamplesHave) {
  const auto refused = [&](const std::function<void(Updates&)>& change) {
    Updates updates = Message(1);
    change(updates);
    return Broken(updates);
  };
  using testing::HasSubstr;
  const std::size_t last = Message(1).integers.size() - 1;
  EXPECT_THAT(refused([](Updates& u) { u.samples[0] = 41; }), HasSubstr("norm"));
  EXPECT_THAT(refused([](Updates& u) { u.samples[0] = 513; }), HasSubstr("at most 512"));
  EXPECT_THAT(refused([](Updates& u) { u.integers[0] = static_cast<std::uint64_t>(-5); }),
              HasSubstr("negative"));
  EXPECT_THAT(refused([](Updates& u) { u.integers[0] += 1U << 30U; }), HasSubstr("norm"));
  EXPECT_THAT(refused([&](Updates& u) { u.integers[last - 6] = 1ULL << 40U; }),
              HasSubstr("labels"));
  EXPECT_THAT(refused([&](Updates& u) { u.integers[last - 6] = static_cast<std::uint64_t>(-1); }),
              HasSubstr("labels"));
  EXPECT_THAT(refused([&](Updates& u) { u.integers[last] = 1U << 20U; }), HasSubstr("sum to 1"));
  EXPECT_THAT(refused([&](Updates& u) { u.integers[last] = static_cast<std::uint64_t>(-1); }),
              HasSubstr("weight is negative"));
  EXPECT_THAT(refused([](Updates& u) { u.fresh[0] = {40, 39}; }), HasSubstr("39 unknowns"));
  EXPECT_THAT(refused([](Updates& u) { u.unknowns[0] = 38; }), HasSubstr("38 unknowns"));
  EXPECT_THAT(refused([](Updates& u) { u.new_unknowns[0] = 161; }), HasSubstr("160 unknowns"));
  EXPECT_THAT(refused([](Updates& u) {
                u.fresh[0] = {1ULL << 40U, 1ULL << 41U};
              }),
              HasSubstr("unknowns"));
}

}  // namespace
}  // namespace polykern
