#include "polykern/gpu/fleet_shape.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/kernels.h"

namespace polykern::gpu {
namespace {

using testing::HasSubstr;

AlgorithmOptions SmallOptions() {
  AlgorithmOptions options;
  options.kernels = 7;
  options.features = 6;
  options.kernels_per_upload = 3;
  return options;
}

std::unique_ptr<Algorithm> MakeFor(const std::string& name,
                                   AlgorithmOptions options = SmallOptions(),
                                   std::size_t dimension = 5) {
  return MakeAlgorithm(name, options, {dimension, 100, 1});
}

std::string RefusalOf(const Algorithm& algorithm) {
  try {
    ShapeOf(algorithm, true);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(FleetShape, OfPofMklHasItsNumbers) {
  const FleetShape shape = ShapeOf(*MakeFor("pof-mkl"), true);
  EXPECT_EQ(shape.kernels.dimension, 5U);
  EXPECT_EQ(shape.kernels.stride(), 8U);
  EXPECT_EQ(shape.kernels.kernels, 7U);
  EXPECT_EQ(shape.kernels.features, 6U);
  EXPECT_EQ(shape.kernels.padded_features(), 8U);
  EXPECT_EQ(shape.kernels.per_upload, 3U);
  EXPECT_TRUE(shape.kernels.private_weights);
  EXPECT_TRUE(shape.kernels.chooses_kernels);
  EXPECT_TRUE(shape.kernels.explores_only);
  EXPECT_FALSE(shape.kernels.sends_all());
  EXPECT_TRUE(shape.kernels.scores_are_losses);
  EXPECT_FALSE(ShapeOf(*MakeFor("pof-mkl"), false).kernels.scores_are_losses);
  EXPECT_FALSE(shape.sends_losses);
  EXPECT_EQ(shape.learning_rate.At(0), 0.1);  // 1 / sqrt(100)
  ASSERT_TRUE(shape.weight_rate);
  EXPECT_EQ(shape.weight_rate->At(50), 0.1);
}

TEST(FleetShape, OfPofAdagradHasAdaHedgesRate) {
  const FleetShape shape = ShapeOf(*MakeFor("pof-adagrad"), true);
  EXPECT_TRUE(shape.kernels.adahedge);
  EXPECT_TRUE(shape.kernels.private_weights);
  EXPECT_FALSE(shape.weight_rate);
  EXPECT_EQ(shape.learning_rate.At(9), 1);
}

TEST(FleetShape, OfPofGramHasExperts) {
  AlgorithmOptions options;
  options.experts = Experts::kFederated;
  const FleetShape shape = ShapeOf(*MakeFor("pof-gram", options), true);
  EXPECT_EQ(shape.kernels.kernels, 20U);
  EXPECT_EQ(shape.kernels.sizes, 5U);
  EXPECT_EQ(shape.kernels.features, 100U);
  EXPECT_TRUE(shape.kernels.adahedge);
  EXPECT_TRUE(shape.kernels.private_weights);
  EXPECT_TRUE(shape.kernels.sends_all());
  EXPECT_EQ(shape.pace, 0.5);
  options.weighting = Weighting::kHedge;
  EXPECT_FALSE(ShapeOf(*MakeFor("pof-gram", options), true).kernels.adahedge);
}

TEST(FleetShape, OfPofGramSaysWhatToGiveInstead) {
  AlgorithmOptions options;
  EXPECT_EQ(RefusalOf(*MakeFor("pof-gram", options)),
            "pof-gram with private experts does not run on a GPU yet: choose experts=federated, or "
            "device=cpu");
  options.experts = Experts::kFederated;
  options.epsilon = 1;
  EXPECT_EQ(RefusalOf(*MakeFor("pof-gram", options)),
            "pof-gram with noise does not run on a GPU yet: choose device=cpu");
  options.epsilon = 0;
  options.masking = Masking::kHelper;
  EXPECT_THAT(RefusalOf(*MakeFor("pof-gram", options)),
              HasSubstr("pof-gram with masks does not run on a GPU yet: choose masking=none, or"));
  options.masking = Masking::kNone;
  options.weighting = Weighting::kAggregating;
  EXPECT_THAT(RefusalOf(*MakeFor("pof-gram", options)), HasSubstr("choose weighting=adahedge, or"));
  options.forgetting = kAutoForgetting;
  EXPECT_THAT(RefusalOf(*MakeFor("pof-gram", options)), HasSubstr("choose forgetting=1, or"));
}

TEST(FleetShape, FollowsOptions) {
  AlgorithmOptions options = SmallOptions();
  options.schedule = Schedule::kAnytime;
  options.learning_rate = 3;
  options.exploration = 0.5;
  options.loss = LossKind::kHuber;
  const FleetShape shape = ShapeOf(*MakeFor("pof-mkl", options), true);
  EXPECT_EQ(shape.learning_rate.At(8), 1);  // 3 / sqrt(9)
  EXPECT_EQ(shape.exploration, 0.5);
  EXPECT_FALSE(shape.kernels.explores_only);
  EXPECT_TRUE(shape.kernels.huber);
}

TEST(FleetShape, OfOthersSendsEveryKernel) {
  for (const std::string name : {"ofmkl-avg", "vm-kofl"}) {
    AlgorithmOptions options = SmallOptions();
    options.kernels_per_upload.reset();
    const FleetShape shape = ShapeOf(*MakeFor(name, options), true);
    EXPECT_EQ(shape.kernels.per_upload, 7U);
    EXPECT_FALSE(shape.kernels.private_weights);
    EXPECT_TRUE(shape.kernels.sends_all());
    EXPECT_FALSE(shape.kernels.scores_are_losses);
    EXPECT_FALSE(shape.weight_rate);
    EXPECT_EQ(shape.sends_losses, name == "vm-kofl");
  }
}

TEST(FleetShape, RefusesWhatHasNoGpuForm) {
  AlgorithmOptions options = SmallOptions();
  options.kernels_per_upload.reset();
  for (const std::string_view name : AlgorithmNames()) {
    if (TraitsOf(name).client_half != ClientHalf::kOther) continue;
    EXPECT_EQ(RefusalOf(*MakeFor(std::string(name), options)),
              std::string(name) +
                  " does not run on a GPU yet, but these do: pof-mkl, pof-gram, pof-adagrad, "
                  "ofskl, ofmkl-avg, vm-kofl; choose one with algorithm, or device=cpu");
  }
  options.loss = LossKind::kLogistic;
  EXPECT_THAT(RefusalOf(*MakeFor("pof-mkl", options)), HasSubstr("loss=logistic does not run"));
  EXPECT_THAT(RefusalOf(*MakeFor("pof-mkl", SmallOptions(), 520)),
              HasSubstr("520 inputs do not fit"));
}

TEST(FleetShape, FitsIntoABlocksMemory) {
  for (const U32 dimension : {1U, 14U, 48U, 140U}) {
    for (const U32 features : {1U, 9U, 100U, 1000U}) {
      KernelShape shape;
      shape.dimension = dimension;
      shape.features = features;
      EXPECT_EQ(shape.feature_tile() % 4, 0U);
      EXPECT_GE(shape.feature_tile(), 4U);
      EXPECT_LE(shape.feature_tile(), shape.padded_features());
      EXPECT_LE(4 * shape.feature_tile() * (shape.stride() + 2), 48U << 10);
      EXPECT_LE(4 * (shape.past_rows() * shape.stride() + shape.past_room()) + 8 * 256, 48U << 10);
      shape.sizes = 5;  // sums of doubles, by eights
      EXPECT_TRUE(shape.feature_tile() % 8 == 0 || shape.feature_tile() == shape.padded_features());
      EXPECT_LE(4 * shape.feature_tile() * (shape.stride() + 4), 48U << 10);
    }
  }
}

TEST(LargeAngles, AreExpectedOfLongSamplesAlone) {
  const auto algorithm = MakeFor("pof-mkl");
  const KernelBank& bank = *algorithm->definition().bank;
  float longest = 0;
  for (std::size_t i = 0; i < bank.kernels(); ++i)
    longest = std::max(longest, bank.LongestFrequency(i));
  EXPECT_FALSE(MayHaveLargeAngles(*algorithm, 1));
  EXPECT_FALSE(MayHaveLargeAngles(*algorithm, 32000 / longest));
  EXPECT_TRUE(MayHaveLargeAngles(*algorithm, 33000 / longest));
  EXPECT_TRUE(MayHaveLargeAngles(*algorithm, std::nanf("")));
}

TEST(PackedFrequencies, ArePaddedWithZeros) {
  const auto algorithm = MakeFor("pof-mkl");
  const KernelBank& bank = *algorithm->definition().bank;
  const KernelShape shape = ShapeOf(*algorithm, true).kernels;
  const std::vector<float> packed = PackFrequencies(*algorithm, shape);
  ASSERT_EQ(packed.size(), 7U * 8 * 8);
  for (std::size_t i = 0; i < 7; ++i) {
    for (std::size_t feature = 0; feature < 8; ++feature) {
      for (std::size_t j = 0; j < 8; ++j) {
        const bool there = feature < 6 && j < 5;
        EXPECT_EQ(packed[(i * 8 + feature) * 8 + j],
                  there ? bank.Frequencies(i)[feature * 5 + j] : 0);
      }
    }
  }
}

TEST(PackedFrequencies, OfASharedDrawAreThatDraw) {
  AlgorithmOptions options = SmallOptions();
  options.shared_draws = true;
  const auto algorithm = MakeFor("pof-mkl", options);
  const KernelShape shape = ShapeOf(*algorithm, true).kernels;
  EXPECT_TRUE(shape.shared_draw);
  const std::vector<float> packed = PackFrequencies(*algorithm, shape);
  ASSERT_EQ(packed.size(), 8U * 8);
  EXPECT_EQ(packed[8 + 4], algorithm->definition().bank->SharedFrequencies()[5 + 4]);
}

TEST(PackedModel, HasSinesAndCosinesApart) {
  KernelShape shape;
  shape.kernels = 2;
  shape.features = 3;
  std::vector<float> model(12);
  for (std::size_t i = 0; i < model.size(); ++i) model[i] = static_cast<float>(i + 1);
  std::vector<float> packed(16);
  PackModel(model, shape, packed);
  EXPECT_EQ(packed, (std::vector<float>{1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 0, 10, 11, 12, 0}));
}

}  // namespace
}  // namespace polykern::gpu
