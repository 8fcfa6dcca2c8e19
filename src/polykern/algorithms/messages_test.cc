#include "polykern/algorithms/messages.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/broken_rule.h"

namespace polykern {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr ModelShape kSentShape = {4, 3, 2};

/// Client 70 sends blocks 3 and 0, client 71 nothing, client 72 block 3.
Updates Good() {
  Updates updates;
  updates.step = 9;
  updates.clients = {70, 71, 72};
  updates.first = {0, 2, 2, 3};
  updates.blocks = {3, 0, 3};
  updates.values = {1, 2, 3, 4, 5, 6, 7, 8, 512};
  updates.probability = {0.5, 0.5, 0.5};
  return updates;
}

/// What CheckUpdates says against the updates; empty if nothing.
std::string Complaint(const Updates& updates, const ModelShape& shape = kSentShape) {
  try {
    CheckUpdates(shape, updates);
  } catch (const BrokenRule& broken) {
    return broken.what();
  }
  return "";
}

/// The rule that they break.
std::optional<Rule> Broken(const Updates& updates, const ModelShape& shape = kSentShape) {
  try {
    CheckUpdates(shape, updates);
  } catch (const BrokenRule& broken) {
    return broken.rule;
  }
  return {};
}

TEST(ModelShape, CountsItsNumbers) {
  EXPECT_EQ(kSentShape.model_size(), 12U);
  EXPECT_EQ(kSentShape.update_size(), 6U);
  EXPECT_EQ((ModelShape{4, 3, 2, 5}.update_size()), 11U) << "losses count as numbers sent";
}

TEST(Updates, ListTheBlocksOfAClient) {
  const Updates updates = Good();
  EXPECT_EQ(updates.size(), 3U);
  EXPECT_THAT(updates.BlocksOf(0), testing::ElementsAre(3, 0));
  EXPECT_THAT(updates.BlocksOf(1), testing::IsEmpty());
  EXPECT_THAT(updates.BlocksOf(2), testing::ElementsAre(3));
}

TEST(Updates, AreAnEmptyCohortAfterClear) {
  Updates updates = Good();
  updates.Clear();
  EXPECT_EQ(updates.size(), 0U);
  EXPECT_TRUE(updates.blocks.empty());
  EXPECT_TRUE(updates.values.empty());
  EXPECT_TRUE(updates.probability.empty());
  EXPECT_EQ(Complaint(updates), "");
}

TEST(Updates, BeginWithAsManyBlocksForEachClientAndNothingOfTheStepBefore) {
  Updates updates = Good();
  updates.Begin(7, std::vector<std::uint64_t>{4, 9, 11}, 2);
  updates.MakeRoom(5);
  EXPECT_EQ(updates.step, 7U);
  EXPECT_THAT(updates.clients, testing::ElementsAre(4, 9, 11));
  EXPECT_THAT(updates.first, testing::ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(updates.blocks, testing::ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_EQ(updates.values.size(), 30U);
  EXPECT_TRUE(updates.losses.empty());
  EXPECT_THAT(updates.probability, testing::ElementsAre(1, 1, 1));
  updates.Begin(8, std::vector<std::uint64_t>{4}, 0);
  updates.MakeRoom(0);
  EXPECT_TRUE(updates.values.empty());
  EXPECT_THAT(updates.first, testing::ElementsAre(0, 0));
}

TEST(CheckUpdates, AcceptsWhatFits) {
  EXPECT_EQ(Complaint(Good()), "");
  Updates limits = Good();
  limits.values = {512, -512, 0, -0.0F, 1e-45F, 6, 7, 8, 9};
  EXPECT_EQ(Complaint(limits), "");
}

TEST(CheckUpdates, LetsDifferentClientsSendTheSameBlock) {
  Updates updates = Good();
  updates.blocks = {3, 0, 0};
  EXPECT_EQ(Complaint(updates), "");
}

TEST(CheckUpdates, DoesNotLookAtTheProbabilitiesThatAreNeverSent) {
  Updates updates = Good();
  updates.probability.clear();
  EXPECT_EQ(Complaint(updates), "");
}

TEST(CheckUpdates, RefusesInconsistentLengths) {
  Updates wrong = Good();
  wrong.first.clear();
  EXPECT_THAT(Complaint(wrong), AllOf(HasSubstr("step 9"), HasSubstr("inconsistent lengths")));
  wrong = Good();
  wrong.first.pop_back();
  EXPECT_THAT(Complaint(wrong), HasSubstr("inconsistent lengths"));
  wrong = Good();
  wrong.first = {1, 2, 2, 3};
  EXPECT_THAT(Complaint(wrong), HasSubstr("inconsistent lengths"));
  wrong = Good();
  wrong.first = {0, 2, 2, 2};
  EXPECT_THAT(Complaint(wrong), HasSubstr("inconsistent lengths"));
  wrong = Good();
  wrong.values.pop_back();
  EXPECT_THAT(Complaint(wrong), HasSubstr("inconsistent lengths"));
  wrong = Good();
  wrong.values.push_back(0);
  EXPECT_THAT(Complaint(wrong), HasSubstr("inconsistent lengths"));
  wrong = Good();
  wrong.blocks.push_back(1);
  EXPECT_THAT(Complaint(wrong), HasSubstr("inconsistent lengths"));
  wrong = Good();
  wrong.clients.push_back(73);
  EXPECT_THAT(Complaint(wrong), HasSubstr("inconsistent lengths"));
}

TEST(CheckUpdates, RefusesPartsThatRunBackwardsOrBeyondTheEnd) {
  Updates wrong = Good();
  wrong.first = {0, 2, 1, 3};
  EXPECT_THAT(Complaint(wrong), AllOf(HasSubstr("client 71"), HasSubstr("inconsistent lengths")));
  wrong.first = {0, 4, 2, 3};
  EXPECT_THAT(Complaint(wrong), AllOf(HasSubstr("client 70"), HasSubstr("inconsistent lengths")));
  wrong.first = {0, std::numeric_limits<std::size_t>::max(), 2, 3};
  EXPECT_THAT(Complaint(wrong), AllOf(HasSubstr("client 70"), HasSubstr("inconsistent lengths")));
}

TEST(CheckUpdates, RefusesMoreBlocksThanAllowed) {
  const ModelShape narrow = {4, 3, 1};
  EXPECT_THAT(Complaint(Good(), narrow), AllOf(HasSubstr("client 70"), HasSubstr("step 9"),
                                               HasSubstr("2 kernels"), HasSubstr("at most 1")));
}

TEST(CheckUpdates, RefusesABlockThatDoesNotExist) {
  Updates wrong = Good();
  wrong.blocks[2] = 4;
  EXPECT_THAT(Complaint(wrong), AllOf(HasSubstr("client 72"), HasSubstr("no kernel 4")));
  wrong.blocks[2] = UINT32_MAX;
  EXPECT_THAT(Complaint(wrong), AllOf(HasSubstr("client 72"), HasSubstr("no kernel 4294967295")));
}

TEST(CheckUpdates, RefusesABlockThatIsThereTwice) {
  for (const std::uint32_t block : {0U, 3U}) {
    Updates wrong = Good();
    wrong.blocks = {block, block, 1};
    EXPECT_THAT(Complaint(wrong),
                AllOf(HasSubstr("client 70"),
                      HasSubstr("kernel " + std::to_string(block) + " is there twice")));
  }
}

TEST(CheckUpdates, RefusesNumbersThatAreNotFiniteOrTooLarge) {
  using Limits = std::numeric_limits<float>;
  for (const float bad :
       {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), 512.00006F, -1e30F}) {
    for (std::size_t place = 0; place < 9; ++place) {
      Updates wrong = Good();
      wrong.values[place] = bad;
      EXPECT_THAT(Complaint(wrong), AllOf(HasSubstr(place < 6 ? "client 70" : "client 72"),
                                          HasSubstr("not finite or above 512")))
          << place;
    }
  }
}

/// As Good, with the losses of all four weights beside it.
Updates WithLosses() {
  Updates updates = Good();
  updates.losses = {1, 0, 512, 2, 0, 0, 0, 0, 1, 1, 1, 1};
  return updates;
}

constexpr ModelShape kLossy = {4, 3, 2, 4};

TEST(CheckUpdates, WantsAsManyLossesAsTheShapeSays) {
  EXPECT_EQ(Complaint(WithLosses(), kLossy), "");
  EXPECT_THAT(Complaint(Good(), kLossy), HasSubstr("inconsistent lengths"));
  EXPECT_THAT(Complaint(WithLosses()), HasSubstr("inconsistent lengths"));
  Updates wrong = WithLosses();
  wrong.losses.pop_back();
  EXPECT_THAT(Complaint(wrong, kLossy), HasSubstr("inconsistent lengths"));
  wrong.Clear();
  EXPECT_EQ(Complaint(wrong, kLossy), "") << "Clear leaves losses behind";
}

TEST(CheckUpdates, RefusesLossesThatAreNegativeNotFiniteOrTooLarge) {
  using Limits = std::numeric_limits<float>;
  for (const float bad : {-1e-30F, Limits::quiet_NaN(), Limits::infinity(), 513.0F}) {
    for (std::size_t place = 0; place < 12; ++place) {
      Updates wrong = WithLosses();
      wrong.losses[place] = bad;
      EXPECT_THAT(Complaint(wrong, kLossy),
                  AllOf(HasSubstr("client " + std::to_string(70 + place / 4)),
                        HasSubstr(bad < 0 ? "negative loss" : "not finite or above 512")));
    }
  }
}

TEST(CheckUpdates, WantsABlockForEachLossIfLossesGoWithBlocks) {
  const ModelShape shape = {4, 3, 2, 2, true};
  Updates updates = Good();
  updates.losses = {1, 1, 0, 0, 1, 1};
  EXPECT_THAT(Complaint(updates, shape),
              AllOf(HasSubstr("client 71"), HasSubstr("0 kernels, but the losses of 2")));
  updates.first = {0, 2, 4, 6};
  updates.blocks = {3, 0, 1, 2, 2, 1};
  updates.values.assign(18, 1);
  EXPECT_EQ(Complaint(updates, shape), "");
}

TEST(CheckUpdates, WantsNoBlocksForLossesOfTheServersWeightsHoweverManyThereAre) {
  Updates updates = Good();
  updates.losses = {1, 1, 0, 0, 1, 1};
  EXPECT_EQ(Complaint(updates, {4, 3, 2, 2}), "") << "client 71 sends no block, but its losses";
}

/// Norms between 0.5 and 2. Client 70 sends kernels 3 and 0, client 72 kernel 3.
const ModelShape kBounded = [] {
  ModelShape shape = kSentShape;
  shape.least_norm = 0.5;
  shape.most_norm = 2;
  return shape;
}();

Updates WithNorms() {
  Updates updates = Good();
  updates.values = {0, 0.5F, 0, 0, 0, -2, -0.6F, 0, 0.8F};  // norms 1/2, 2 and 1
  return updates;
}

TEST(CheckUpdates, AcceptsNormsWithinTheirBounds) {
  EXPECT_EQ(Complaint(WithNorms(), kBounded), "");
  EXPECT_EQ(Complaint(Good()), "") << "norms without bounds may be anything";
}

TEST(CheckUpdates, RefusesNormsOutOfTheirBoundsAndNamesTheKernel) {
  for (const float factor : {0.0F, 1e-30F, 0.2F, 4.5F, 200.0F}) {
    for (std::size_t at = 0; at < 3; ++at) {
      Updates wrong = WithNorms();
      for (std::size_t j = 3 * at; j < 3 * at + 3; ++j) wrong.values[j] *= factor;
      EXPECT_THAT(Complaint(wrong, kBounded),
                  AllOf(HasSubstr(at < 2 ? "client 70" : "client 72"), HasSubstr("step 9"),
                        HasSubstr(at == 1 ? "kernel 0 has the norm" : "kernel 3 has the norm"),
                        HasSubstr("between 0.5")))
          << factor << " " << at;
    }
  }
}

TEST(CheckUpdates, RefusesANormThatIsNotANumber) {
  for (std::size_t place = 0; place < 9; ++place) {
    Updates wrong = WithNorms();
    wrong.values[place] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THAT(Complaint(wrong, kBounded),
                AllOf(HasSubstr(place < 6 ? "client 70" : "client 72"), HasSubstr("not finite")));
  }
}

TEST(CheckUpdates, LooksAtTheNormsOfOthersBesideAClientWithBadNumbers) {
  Updates wrong = WithNorms();
  wrong.values[1] = 0;
  wrong.values[8] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(Complaint(wrong, kBounded), AllOf(HasSubstr("client 70"), HasSubstr("kernel 3")));
}

TEST(CheckUpdates, SaysWhichRuleIsBroken) {
  EXPECT_EQ(Broken(Good()), std::nullopt);
  Updates wrong = Good();
  wrong.values.pop_back();
  EXPECT_EQ(Broken(wrong), Rule::kLengths);
  wrong = Good();
  wrong.first = {0, 2, 1, 3};
  EXPECT_EQ(Broken(wrong), Rule::kLengths) << "backwards";
  EXPECT_EQ(Broken(Good(), {4, 3, 1}), Rule::kKernels) << "too many";
  EXPECT_EQ(Broken(Good(), {3, 3, 2}), Rule::kKernels) << "there is no such";
  wrong = Good();
  wrong.blocks = {3, 3, 3};
  EXPECT_EQ(Broken(wrong), Rule::kKernels) << "twice";
  wrong = WithLosses();
  wrong.losses.resize(6);
  EXPECT_EQ(Broken(wrong, {4, 3, 2, 2, true}), Rule::kLosses) << "not one for each kernel";
  wrong = WithLosses();
  wrong.losses[5] = -1;
  EXPECT_EQ(Broken(wrong, kLossy), Rule::kLosses) << "negative";
  wrong.losses[5] = 513;
  EXPECT_EQ(Broken(wrong, kLossy), Rule::kNumbers);
  wrong = Good();
  wrong.values[4] = 513;
  EXPECT_EQ(Broken(wrong), Rule::kNumbers);
  wrong = WithNorms();
  wrong.values[1] = 0;
  EXPECT_EQ(Broken(wrong, kBounded), Rule::kNorm);
}

/// The same as integers of a ring, with a loss of each client.
Updates InRing() {
  Updates updates = Good();
  updates.values.clear();
  updates.integers = {1, 2, 3, 4, 5, 6, /*loss*/ 50, /*loss*/ 51, 7, 8, UINT32_MAX, /*loss*/ 52};
  return updates;
}

TEST(Ring, WrapsAndUnwrapsNumbersOfEitherSign) {
  for (const unsigned bits : {32U, 64U}) {
    const Ring ring{bits, 0.5};
    for (const std::int64_t number : {0, 1, -1, INT32_MAX, INT32_MIN}) {
      EXPECT_EQ(ring.Unwrap(ring.Wrap(number)), number) << bits;
    }
    EXPECT_EQ(ring.Unwrap(ring.Wrap(-3) + ring.Wrap(5)), 2) << "sums of what is wrapped";
  }
  EXPECT_EQ((Ring{32, 1}.Wrap(-1)), UINT32_MAX);
  EXPECT_EQ((Ring{64, 1}.Unwrap(Ring{64, 1}.Wrap(INT64_MIN))), INT64_MIN);
}

TEST(CheckUpdates, TakesIntegersWhereTheShapeHasARingAndNowhereElse) {
  ModelShape shape = {4, 3, 2, 1};
  EXPECT_EQ(Broken(InRing(), shape), Rule::kLengths) << "it asks for floats";
  shape.ring = {32, 0.25};
  EXPECT_EQ(Complaint(InRing(), shape), "");
  Updates floats = Good();
  floats.losses = {1, 2, 3};
  EXPECT_EQ(Broken(floats, shape), Rule::kLengths);
  for (auto spoil :
       {+[](Updates& u) { u.integers.pop_back(); }, +[](Updates& u) { u.integers.push_back(0); },
        +[](Updates& u) { u.values = {1}; }, +[](Updates& u) { u.losses = {1}; }}) {
    Updates updates = InRing();
    spoil(updates);
    EXPECT_EQ(Broken(updates, shape), Rule::kLengths);
  }
}

TEST(CheckUpdates, JudgesOfIntegersOnlyWhetherTheyAreOfTheRing) {
  ModelShape shape = {4, 3, 2, 1};
  shape.most_norm = 1;  // of numbers that nobody sees
  shape.ring = {32, 0.25};
  EXPECT_EQ(Complaint(InRing(), shape), "");
  Updates updates = InRing();
  updates.integers[10] += 1;
  EXPECT_EQ(Broken(updates, shape), Rule::kNumbers);
  EXPECT_THAT(Complaint(updates, shape), AllOf(HasSubstr("client 72"), HasSubstr("32 bits")));
  shape.ring.bits = 64;
  EXPECT_EQ(Complaint(updates, shape), "");
  updates.blocks = {3, 3, 3};
  EXPECT_EQ(Broken(updates, shape), Rule::kKernels) << "kernels are judged as ever";
}

}  // namespace
}  // namespace polykern
