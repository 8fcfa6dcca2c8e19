#include "polykern/data/samples/waiting_samples.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(WaitingSamples, AreTakenOnceInAnyOrder) {
  WaitingSamples waiting(10);
  waiting.Add("a", {1});
  waiting.Add("b", {2});
  waiting.Add("c", {3});
  EXPECT_THAT(waiting.Take("b"), Optional(ElementsAre(2)));
  EXPECT_EQ(waiting.Take("b"), std::nullopt);
  EXPECT_THAT(waiting.Take("c"), Optional(ElementsAre(3)));
  EXPECT_THAT(waiting.Take("a"), Optional(ElementsAre(1)));
  EXPECT_EQ(waiting.size(), 0U);
  EXPECT_EQ(waiting.forgotten(), 0U);
}

TEST(WaitingSamples, ForgetTheOldestOfTooMany) {
  WaitingSamples waiting(2);
  for (int k = 0; k < 5; ++k) waiting.Add(std::to_string(k), {static_cast<float>(k)});
  EXPECT_EQ(waiting.size(), 2U);
  EXPECT_EQ(waiting.forgotten(), 3U);
  EXPECT_EQ(waiting.Take("2"), std::nullopt);
  EXPECT_THAT(waiting.Take("3"), Optional(ElementsAre(3)));
  EXPECT_THAT(waiting.Take("4"), Optional(ElementsAre(4)));
}

TEST(WaitingSamples, OfOneNameAreTheLastOneAndTheYoungest) {
  WaitingSamples waiting(2);
  waiting.Add("a", {1});
  waiting.Add("b", {2});
  waiting.Add("a", {3});  // the first is forgotten; b is the oldest now
  EXPECT_EQ(waiting.forgotten(), 1U);
  waiting.Add("c", {4});
  EXPECT_EQ(waiting.Take("b"), std::nullopt);
  EXPECT_THAT(waiting.Take("a"), Optional(ElementsAre(3)));
}

TEST(WaitingSamples, MayBeForbiddenToWait) {
  WaitingSamples waiting(0);
  waiting.Add("a", {1});
  EXPECT_EQ(waiting.size(), 0U);
  EXPECT_EQ(waiting.forgotten(), 1U);
  EXPECT_EQ(waiting.Take("a"), std::nullopt);
}

}  // namespace
}  // namespace polykern
