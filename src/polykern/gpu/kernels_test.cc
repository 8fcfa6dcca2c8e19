#include "polykern/core/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "polykern/core/double_sum.h"
#include "polykern/core/exact_sum.h"
#include "polykern/core/losses.h"
#include "polykern/core/random.h"
#include "polykern/core/random_features.h"
#include "polykern/core/subset.h"
#include "polykern/core/vector_ops.h"
#include "polykern/gpu/emulated_kernels_internal.h"
#include "polykern/gpu/exp_table.h"

// Single formulas of the kernels beside those of core/.

namespace polykern::gpu {
namespace {

using testing::Each;
using testing::ElementsAreArray;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Numbers of every size up to `most`, both signs.
std::vector<double> NumbersUpTo(double most, int count = 2000) {
  polykern::Random random(1, Purpose::kTest);
  std::vector<double> numbers = {0, -0.0, most, -most};
  for (int i = 0; i < count; ++i) {
    const double size = most * std::pow(2.0, -60 * random.Uniform());
    numbers.push_back(random.Uniform() < 0.5 ? size : -size);
  }
  return numbers;
}

class KernelFormulas : public testing::Test {
 protected:
  KernelFormulas() {
    shape = {.threads = kThreads, .dimension = 3, .kernels = 5, .features = 4, .per_upload = 2};
  }
};

TEST_F(KernelFormulas, HaveTheVectorUnitsSinesAndCosines) {
  std::vector<float> angles;
  for (const double angle : NumbersUpTo(32768)) angles.push_back(static_cast<float>(angle));
  for (const float angle : angles) {
    // One kernel of one frequency, 1, and a model that is the sine, or the cosine.
    const KernelBank bank({1.0F}, 1, 1, 1);
    const PackedKernels packed(bank);
    FeatureScratch scratch;
    std::vector<float> f(1);
    std::vector<float> z(2);
    const std::vector<std::size_t> first = {0, 1};
    const std::vector<std::uint32_t> wanted = {0};
    const std::vector<float> x = {angle};
    const std::vector<float> theta = {1, 0};
    EvaluateKernels(packed, {1, x, theta, first, wanted, f, z}, scratch);
    float sine = 0;
    float cosine = 0;
    SineAndCosine(angle, sine, cosine);
    ASSERT_EQ(sine, z[0]) << angle;
    ASSERT_EQ(cosine, z[1]) << angle;
  }
}

TEST_F(KernelFormulas, HaveTheVectorUnitsExponential) {
  std::vector<double> numbers = {0, -708, -708.5, -1e300, -kInfinity};
  for (const double number : NumbersUpTo(750)) numbers.push_back(-std::abs(number));
  std::vector<double> expected = numbers;
  ExpOfNegatives(expected);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_EQ(ExpOfNegative(numbers[i]), expected[i]) << numbers[i];
  }
}

TEST_F(KernelFormulas, RoundToWholeNumbersAsTheCpuDoes) {
  std::vector<double> numbers = NumbersUpTo(1);
  for (int halves = -9; halves <= 9; ++halves) numbers.push_back(halves * 0x1p-19);
  for (const double number : numbers) {
    ASSERT_EQ(RoundedTo18(number), std::nearbyint(number * 0x1p18)) << number;
    const double size = std::abs(number) * 0x1p36;
    ASSERT_EQ(static_cast<double>(WholeOf(size)), std::nearbyint(size)) << number;
  }
}

/// Of numbers where exp(x) may go another way, and of so many at random, three times.
void ExpectTheCLibrarysExponential(int count) {
  const std::vector<ExpEntry> table = ExpTable();
  const auto expect_same = [&](double x) {
    ASSERT_EQ(BitsOf(LibraryExp(table.data(), x)), BitsOf(std::exp(x))) << x;
  };
  for (const double x :
       {0.0, -0.0, -1e-300, -0x1p-54, -0x1.8p-54, -0x1p-55, -512.0, -511.9999, -708.3, -708.5,
        -745.1, -745.2, -746.0, -1023.9, -1024.0, -1e300, -kInfinity}) {
    expect_same(x);
  }
  polykern::Random random(4, Purpose::kTest);
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    expect_same(-800 * random.Uniform());
    expect_same(-random.Uniform() * random.Uniform());
    expect_same(std::ldexp(-random.Uniform(), -static_cast<int>(random.Below(56))));
  }
  EXPECT_TRUE(std::isnan(LibraryExp(table.data(), std::nan(""))));
}

TEST_F(KernelFormulas, HaveTheCLibrarysExponential) {
  ExpectTheCLibrarysExponential(300'000);
}
TEST_F(KernelFormulas, LongHaveTheCLibrarysExponential) {
  ExpectTheCLibrarysExponential(100'000'000);
}

TEST_F(KernelFormulas, AddEightPartialSumsAsTheVectorUnitsDo) {
  polykern::Random random(2, Purpose::kTest);
  std::vector<double> numbers(51);
  for (double& number : numbers) number = random.Normal();
  double partial[8] = {};
  for (std::size_t i = 0; i < numbers.size(); ++i) partial[i % 8] += numbers[i];
  EXPECT_EQ(SumOfPartial(partial), Sum(numbers));
}

TEST_F(KernelFormulas, RoundFloatsAsExactSumsDo) {
  std::vector<float> values;
  for (const double value : NumbersUpTo(512)) values.push_back(static_cast<float>(value));
  for (const float tie :
       {0x1p-31F, 0x3p-31F, -0x1p-31F, -0x5p-31F, 0x1p-8F, -0x1p-8F, 0x1.8p-7F, 511.99997F}) {
    values.push_back(tie);
  }
  for (const float value : values) {
    ExactSum expected(1);
    expected.Add(0, std::vector{value});
    RoundedSum sum = {0, 0};
    AddRounded(value, sum);
    ASSERT_EQ(UnitsOf(sum, 1), expected.units()[0]) << value;
  }
}

TEST_F(KernelFormulas, AddUpAsManyRoundedFloatsAsABatchHas) {
  ASSERT_LE(kBatch, kMostRoundedTerms);
  for (const float value : {512.0F, -512.0F, 0x1p-8F, -0x1.fffffep-9F}) {
    ExactSum expected(1);
    RoundedSum sum = {0, 0};
    for (U32 i = 0; i < kMostRoundedTerms; ++i) {
      expected.Add(0, std::vector{value});
      AddRounded(value, sum);
    }
    EXPECT_EQ(UnitsOf(sum, kMostRoundedTerms), expected.units()[0]) << value;
  }
}

TEST_F(KernelFormulas, AddUpDoublesAsDoubleSumDoes) {
  std::vector<double> values = NumbersUpTo(1e9);
  for (const double value : {1e300, -1e300, 1e-300, 5e-324, kInfinity, std::nan("")})
    values.push_back(value);
  DoubleSum expected;
  std::vector<U64> words(kSumWords);
  std::vector<U64> window(kWindow);
  for (const double value : values) {
    expected.Add(value);
    AddDouble(value, window.data(), words.data());
  }
  for (U32 i = 0; i < kWindow; ++i) words[kWindowStart + i] += window[i];
  for (U32 i = 0; i < kSumWords; ++i) {
    EXPECT_EQ(static_cast<std::int64_t>(words[i]), expected.words()[i]) << i;
  }
}

TEST_F(KernelFormulas, KeepUsualNumbersOutOfTheDevicesMemory) {
  std::vector<U64> words(kSumWords);
  std::vector<U64> window(kWindow);
  for (const double value : {0.0, 1e-12, 0.25, 1.0, 500.0, 1e9})
    AddDouble(value, window.data(), words.data());
  EXPECT_THAT(words, Each(0U));
  EXPECT_NE(window, std::vector<U64>(kWindow));
}

TEST_F(KernelFormulas, DrawTheSameRandomNumbers) {
  for (const std::uint64_t seed : {0ULL, 1ULL, ~0ULL}) {
    polykern::Random expected(seed, Purpose::kSample, 12, 345);
    RandomNumbers random = RandomFor(seed, kForSample, 12, 345);
    for (int i = 0; i < 200; ++i) {
      ASSERT_EQ(RandomBits(random), expected.Bits());
      ASSERT_EQ(Uniform(random), expected.Uniform());
      ASSERT_EQ(Normal(random), expected.Normal());
      ASSERT_EQ(Below(random, 7), expected.Below(7));
      ASSERT_EQ(Below(random, (1ULL << 63) + 1),
                expected.Below((1ULL << 63) + 1));  // half are rejected
    }
  }
  EXPECT_EQ(kForSubset, static_cast<U64>(Purpose::kSubset));
  EXPECT_EQ(kForParticipation, static_cast<U64>(Purpose::kParticipation));
}

TEST_F(KernelFormulas, HaveTheQuantilesOfTheNormalLaw) {
  polykern::Random random(3, Purpose::kTest);
  std::vector<double> all = {0x1p-53, 1 - 0x1p-53, 0.075, 0.925, 1e-9, 1e-12, 1e-300};
  for (int i = 0; i < 2000; ++i) all.push_back(0x1p-60 + random.Uniform());
  for (const double u : all) {
    ASSERT_EQ(gpu::NormalQuantile(u), polykern::NormalQuantile(u)) << u;
  }
}

TEST_F(KernelFormulas, HaveTheLossesOfCore) {
  FleetArguments a = {};
  a.huber = 0.3;
  for (const bool huber : {false, true}) {
    shape.huber = huber;
    const Loss loss{huber ? LossKind::kHuber : LossKind::kSquared, 0.3};
    for (const double f : NumbersUpTo(3, 300)) {
      ASSERT_EQ(LossValue(a, f, 0.4), loss.Value(f, 0.4));
      ASSERT_EQ(LossSlope(a, f, 0.4), loss.Slope(f, 0.4));
    }
  }
}

TEST_F(KernelFormulas, KnowWhatIsFinite) {
  EXPECT_TRUE(IsFinite(1e308));
  EXPECT_TRUE(IsFinite(-0.0));
  EXPECT_FALSE(IsFinite(kInfinity));
  EXPECT_FALSE(IsFinite(-kInfinity));
  EXPECT_FALSE(IsFinite(std::nan("")));
}

/// Five kernels' cumulative losses of one client.
class ClientsExperts : public testing::Test {
 protected:
  ClientsExperts() {
    shape = {.threads = kThreads, .dimension = 3, .kernels = 5, .features = 4, .per_upload = 2};
    shape.private_weights = true;
    shape.chooses_kernels = true;
    a_.clients = 1;
    a_.count = 1;
    a_.losses = losses_.data();
    a_.weight_rate = 0.7;
    a_.exploration = 0.2;
  }
  std::vector<double> Expected() const {
    std::vector<double> weights(5);
    SoftMin(losses_, 0.7, weights);
    return weights;
  }

  std::vector<double> losses_ = {3, 1, 2.5, 1, 0.25};
  FleetArguments a_ = {};
};

TEST_F(ClientsExperts, HaveHedgesWeights) {
  const Weights weights = FindWeights(a_, 0);
  std::vector<double> found;
  for (U32 i = 0; i < 5; ++i) found.push_back(WeightOf(weights, i));
  EXPECT_THAT(found, ElementsAreArray(Expected()));
}

TEST_F(ClientsExperts, KnowTheLeastLossFromTheirScores) {
  shape.scores_are_losses = true;
  double best = 0.25;
  a_.best = &best;
  const Weights weights = FindWeights(a_, 0);
  std::vector<double> found;
  for (U32 i = 0; i < 5; ++i) found.push_back(WeightOf(weights, i));
  EXPECT_THAT(found, ElementsAreArray(Expected()));
}

TEST_F(ClientsExperts, AreMixedAndLearnAsTheVectorUnitsDo) {
  for (const bool scores_are_losses : {false, true}) {
    shape.scores_are_losses = scores_are_losses;
    std::vector<double> losses = losses_;
    std::vector<double> scores(5, 0.5);
    std::vector<float> f = {0.1F, -2, 0.7F, 3, 0.2F};
    const std::vector<double> norms = {1, 2, 3, 4, 5};
    double y = 0.4;
    double best = 0.25;
    std::vector<float> along_z(5, -7);
    float along_theta = 0;
    U32 sent = 0xffffffff;
    a_.losses = losses.data();
    a_.kernel_scores = scores.data();
    a_.f = f.data();
    a_.norms = norms.data();
    a_.y = &y;
    a_.best = &best;
    a_.along_z = along_z.data();
    a_.along_theta = &along_theta;
    a_.sent = &sent;
    a_.learning_rate = 0.5;
    a_.regularization = 0.25;
    a_.scale = 1;
    a_.most_theta = 2;
    const std::vector<U32> place = {4, 1, 3, 2, 0};
    const Lesson lesson = LearnKernels(a_, FindWeights(a_, 0), {2, 4, 0.5}, place.data(), 0);
    EXPECT_EQ(lesson.f, Dot(Expected(), f));
    EXPECT_FALSE(lesson.unit);
    EXPECT_EQ(sent, 0b01100U);  // the kernels of places 2 and 3
    EXPECT_EQ(along_theta, 0.5F);
    double least = kInfinity;
    float largest = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      const double error = static_cast<double>(f[i]) - y;
      const double value = error * error + 0.25 * norms[i];
      EXPECT_EQ(losses[i], losses_[i] + value);
      EXPECT_EQ(scores[i], scores_are_losses ? 0.5 : 0.5 + value);
      least = std::min(least, scores_are_losses ? losses[i] : scores[i]);
      const bool is_sent = i == 2 || i == 3;
      EXPECT_EQ(along_z[i], is_sent ? static_cast<float>(1 * 2 * error) : -7);
      if (is_sent) largest = std::max(largest, std::abs(along_z[i]));
    }
    EXPECT_EQ(lesson.best, least);
    EXPECT_EQ(lesson.size, largest + 2 * along_theta);
  }
}

TEST_F(ClientsExperts, AreChosenByAlgorithmOne) {
  const std::vector<double> expected = Expected();
  for (const double exploration : {0.2, 1.0}) {
    a_.exploration = exploration;
    shape.explores_only = exploration == 1;
    for (double uniform = 0; uniform < 1; uniform += 0.01) {
      a_.uniforms = &uniform;
      std::vector<std::uint32_t> order(5);
      std::vector<std::uint32_t> kernels(2);
      const Bin bin = ChooseBin(losses_, expected, 2, exploration, uniform, order, kernels);
      kernels.resize(bin.count);
      U32 place[kKernelRoom];
      const Chosen chosen = Choose(a_, FindWeights(a_, 0), 0, place);
      EXPECT_EQ(chosen.probability, bin.probability);
      std::vector<std::uint32_t> found(chosen.end - chosen.first);
      for (U32 i = 0; i < 5; ++i) {
        const U32 at = shape.explores_only ? i : place[i];
        if (at >= chosen.first && at < chosen.end) found[at - chosen.first] = i;
      }
      ASSERT_EQ(found, kernels) << uniform;
    }
  }
}

TEST_F(ClientsExperts, AreAllSentWhereNobodyChooses) {
  shape.chooses_kernels = false;
  U32 place[kKernelRoom];
  const Chosen chosen = Choose(a_, FindWeights(a_, 0), 0, place);
  EXPECT_EQ(chosen.first, 0U);
  EXPECT_EQ(chosen.end, 5U);
  EXPECT_EQ(chosen.probability, 1);
}

}  // namespace
}  // namespace polykern::gpu
