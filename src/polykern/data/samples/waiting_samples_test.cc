#include "polykern/data/samples/waiting_samples.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace polykern {
namespace {

using testing::ElementsAre;

std::vector<float> InputsOf(const std::optional<WaitingSample>& sample) {
  return sample ? sample->x : std::vector<float>();
}

TEST(WaitingSamples, AreTakenOnceInAnyOrder) {
  WaitingSamples waiting(10);
  waiting.Add("a", {1});
  waiting.Add("b", {2});
  waiting.Add("c", {3});
  EXPECT_THAT(InputsOf(waiting.Take("b")), ElementsAre(2));
  EXPECT_FALSE(waiting.Take("b"));
  EXPECT_THAT(InputsOf(waiting.Take("c")), ElementsAre(3));
  EXPECT_THAT(InputsOf(waiting.Take("a")), ElementsAre(1));
  EXPECT_EQ(waiting.size(), 0U);
  EXPECT_EQ(waiting.forgotten(), 0U);
}

TEST(WaitingSamples, ForgetTheOldestOfTooMany) {
  WaitingSamples waiting(2);
  for (int k = 0; k < 5; ++k) waiting.Add(std::to_string(k), {static_cast<float>(k)});
  EXPECT_EQ(waiting.size(), 2U);
  EXPECT_EQ(waiting.forgotten(), 3U);
  EXPECT_FALSE(waiting.Take("2"));
  EXPECT_THAT(InputsOf(waiting.Take("3")), ElementsAre(3));
  EXPECT_THAT(InputsOf(waiting.Take("4")), ElementsAre(4));
}

TEST(WaitingSamples, OfOneNameAreTheLastOneAndTheYoungest) {
  WaitingSamples waiting(2);
  waiting.Add("a", {1});
  waiting.Add("b", {2});
  waiting.Add("a", {3});  // the first is forgotten; b is the oldest now
  EXPECT_EQ(waiting.forgotten(), 1U);
  waiting.Add("c", {4});
  EXPECT_FALSE(waiting.Take("b"));
  EXPECT_THAT(InputsOf(waiting.Take("a")), ElementsAre(3));
}

TEST(WaitingSamples, KnowWhatWasToldOfThem) {
  WaitingSamples waiting(2);
  waiting.Add("a", {1});
  waiting.Add("b", {2});
  waiting.Tell("a", {0.5, Interval{0.25, 0.75}, "noon"});
  waiting.Tell("c", {0.7});
  const auto sample = waiting.Take("a");
  ASSERT_TRUE(sample && sample->told);
  EXPECT_EQ(sample->told->value, 0.5);
  EXPECT_EQ(sample->told->interval, (Interval{0.25, 0.75}));
  EXPECT_EQ(sample->told->time, "noon");
  EXPECT_FALSE(waiting.Take("b")->told);
  EXPECT_EQ(waiting.size(), 0U);
}

TEST(WaitingSamples, MayBeForbiddenToWait) {
  WaitingSamples waiting(0);
  waiting.Add("a", {1});
  EXPECT_EQ(waiting.size(), 0U);
  EXPECT_EQ(waiting.forgotten(), 1U);
  EXPECT_FALSE(waiting.Take("a"));
}

}  // namespace
}  // namespace polykern
