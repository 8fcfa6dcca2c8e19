#include <cstdint>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/gram/noisy_server.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::uint64_t> ReleaseSteps(NoisySchedule schedule, std::uint64_t steps,
                                        std::uint64_t samples) {
  std::vector<std::uint64_t> released;
  bool any = false;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    if (schedule.Asks(step - 1) && !std::exchange(any, true)) {
      schedule.Hold({.count = {samples, samples}, .messages = 1, .squares = samples * samples});
    }
    if (!any || !schedule.Releases(step)) continue;
    schedule.Released(step);
    released.push_back(step);
    any = false;
  }
  return released;
}

TEST(NoisySchedule, WaitsForAQuarterOfTheStepsSoFar) {
  EXPECT_THAT(ReleaseSteps({100, {.budget = 100}}, 50, 40),
              ElementsAre(1, 2, 3, 4, 5, 7, 9, 12, 15, 19, 24, 30, 38, 48));
}

TEST(NoisySchedule, KeepsTheBudgetButForTheFirstStep) {
  EXPECT_THAT(ReleaseSteps({190, {.budget = 100}}, 20, 40), ElementsAre(1, 3, 5, 7, 9, 12, 15, 19));
  NoisySchedule schedule(190, {.budget = 100, .burst = 5});
  std::uint64_t sent = 0;
  for (std::uint64_t step = 0; step < 200; ++step) {
    if (schedule.Asks(step)) sent += 190;
    EXPECT_LE(sent, 100 * (step + 1) + 90);
  }
}

TEST(NoisySchedule, ReleasesNothingOverFewSamplesAndNoMoreThanItMay) {
  EXPECT_THAT(ReleaseSteps({100, {.budget = 100}}, 500, 31), IsEmpty());
  EXPECT_THAT(ReleaseSteps({100, {.budget = 100, .releases = 3}}, 500, 32), ElementsAre(1, 2, 3));
}

TEST(NoisySchedule, WaitsForEnoughClientsNoneOfWhichIsNeeded) {
  NoisySchedule schedule(100, {.least_clients = 3});
  schedule.Hold({.count = {200, 200}, .messages = 2, .squares = 20'000});
  EXPECT_FALSE(schedule.Releases(1)) << "the same two may have sent before";
  schedule.Hold({.count = {10, 10}, .messages = 3, .squares = 34});
  EXPECT_TRUE(schedule.Releases(1));
  schedule.Released(1);
  schedule.Hold({.count = {1000, 1000}, .messages = 5, .squares = 950'000});
  EXPECT_FALSE(schedule.Releases(2)) << "one of them may have all but 25";
  std::vector<double> saved(NoisySchedule::kSavedSize);
  schedule.Save(saved);
  NoisySchedule back(100, {.least_clients = 3});
  back.Load(saved);
  for (NoisySchedule* each : {&schedule, &back}) {
    each->Hold({.count = {20, 20}, .messages = 5, .squares = 80});
    EXPECT_TRUE(each->Releases(2));
  }
}

TEST(NoisySchedule, AsksInTheLastEighthBeforeARelease) {
  NoisySchedule schedule(100, {.budget = 100});
  schedule.Released(400);
  std::vector<std::uint64_t> asked;
  for (std::uint64_t step = 400; step < 500; ++step) {
    if (schedule.Asks(step)) asked.push_back(step);
  }
  EXPECT_THAT(asked, SizeIs(13));  // 100 / 8, and the last
  EXPECT_EQ(asked.front(), 487U);
}

}  // namespace
}  // namespace polykern
