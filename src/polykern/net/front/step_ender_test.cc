// Ending steps of several front ends, with a real database.
#include "polykern/net/front/step_ender.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/federation/coordinator.h"
#include "polykern/net/front/front_testing.h"
#include "polykern/net/store_kinds/open_store.h"

namespace polykern {
namespace {

using testing::HasSubstr;

class AStepEnder : public FrontsInADatabase {
 protected:
  AStepEnder() {
    configuration_.options.kernels = 4;
    configuration_.options.features = 2;
    configuration_.options.kernels_per_upload = 1;
    configuration_.problem = {3, 100, 1};
    algorithm_ = MakeAlgorithm(configuration_);
    options_.quorum = {.count = 1};
  }

  std::unique_ptr<StepEnder> Begin(std::uint64_t front) {
    return std::make_unique<StepEnder>(StepEnderOptions{.place = place_, .front = front},
                                       *algorithm_, options_);
  }
  static bool Until(const std::function<bool()>& so) {
    for (int i = 0; i < 1000; ++i) {
      if (so()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  std::int64_t step() const { return Number("SELECT step FROM polykern_open"); }
  bool Leads(std::int64_t front) const {
    return Until([&] { return Number("SELECT leader FROM polykern_open") == front; });
  }

  /// What an update of this client is, added up alone.
  std::vector<std::int64_t> SumsOf(std::uint32_t client, std::uint64_t step, float value) {
    Coordinator coordinator(*algorithm_, client + 1);
    coordinator.Load(step, coordinator.Save());
    Updates updates;
    updates.step = step;
    updates.clients = {client};
    updates.first = {0, 1};
    updates.blocks = {1};
    updates.values.assign(4, value);
    coordinator.Receive(updates);
    return coordinator.TakePartial();
  }
  /// Hands it in for the open step, of a client that this front end has; true: it counts.
  bool HandIn(Front& front, std::uint64_t client, std::uint64_t step, float value,
              FrontReport report = {}) {
    report.step = step;
    const FrontPartial partial{.serial = ++serial_,
                               .step = step,
                               .sums = SumsOf(static_cast<std::uint32_t>(client), step, value),
                               .counted = {{client, step}},
                               .clients = 1};
    return front.Exchange({.step = step, .report = report, .partial = partial}).taken;
  }
  static std::uint64_t Claim(Front& front, const std::string& name) {
    return front.Exchange({.claims = {{name, ""}}}).claimed.at(0).number;
  }

  std::unique_ptr<Algorithm> algorithm_;
  RoundsOptions options_;
  std::uint64_t serial_ = 0;
};

TEST_F(AStepEnder, AddsUpWhatFrontEndsHandIn) {
  options_.quorum = {.count = 2};
  const auto a = Join(1);
  const auto b = Join(2);
  const std::uint64_t x = Claim(*a, "x");
  const std::uint64_t y = Claim(*b, "y");
  const auto ender = Begin(1);
  EXPECT_TRUE(HandIn(*a, x, 0, 1));
  EXPECT_TRUE(HandIn(*b, y, 0, 2));
  ASSERT_TRUE(Until([&] { return step() == 1; }));
  Coordinator coordinator(*algorithm_, 2);
  coordinator.AddPartial(SumsOf(0, 0, 1), 1);
  coordinator.AddPartial(SumsOf(1, 0, 2), 1);
  coordinator.Commit();
  EXPECT_EQ(ReadStore(url()).newest->state, coordinator.Save());
  EXPECT_EQ(Number("SELECT count(*) FROM polykern_partial"), 0);
  EXPECT_EQ(ReadStore(url()).participants, 2U);
}

TEST_F(AStepEnder, IsOneOfThem) {
  const auto a = Join(1);
  auto first = Begin(1);
  ASSERT_TRUE(Leads(1));
  const auto second = Begin(2);
  EXPECT_TRUE(HandIn(*a, Claim(*a, "x"), 0, 1));
  ASSERT_TRUE(Until([&] { return step() == 1; }));
  EXPECT_EQ(Number("SELECT leader FROM polykern_open"), 1);
  first.reset();
  ASSERT_TRUE(Leads(2));
  EXPECT_TRUE(HandIn(*a, 0, 1, 1));
  EXPECT_TRUE(Until([&] { return step() == 2; }));
}

TEST_F(AStepEnder, EndsAStepThatAnotherOneHasLeft) {
  const auto a = Join(1);
  EXPECT_TRUE(HandIn(*a, Claim(*a, "x"), 0, 1));  // nobody ends steps
  const auto ender = Begin(1);
  EXPECT_TRUE(Until([&] { return step() == 1; }));
}

TEST_F(AStepEnder, WaitsForFrontEndsWhoseClientsHaveNotAnswered) {
  const auto a = Join(1);
  const auto b = Join(2);
  const std::uint64_t x = Claim(*a, "x");
  b->Exchange({.report = {.address = "b", .connected = 1, .waiting = 1}});
  const auto ender = Begin(1);
  ASSERT_TRUE(Leads(1));
  EXPECT_TRUE(HandIn(*a, x, 0, 1));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(step(), 0);
  b->Exchange({.report = {.address = "b", .connected = 1, .waiting = 0}});
  EXPECT_TRUE(Until([&] { return step() == 1; }));
}

TEST_F(AStepEnder, AsksForWhatThereIsWhenTheDeadlineHasPassed) {
  options_.deadline = std::chrono::milliseconds(10);
  const auto a = Join(1);
  const std::uint64_t x = Claim(*a, "x");
  const auto ender = Begin(1);
  ASSERT_TRUE(Leads(1));
  EXPECT_TRUE(HandIn(*a, x, 0, 1, {.address = "a", .connected = 2, .waiting = 1}));
  ASSERT_TRUE(Until([&] { return a->Exchange({.writes = false}).asked; }));
  a->Exchange({.report = {.address = "a", .connected = 2, .waiting = 1, .asked = true}});
  EXPECT_TRUE(Until([&] { return step() == 1; }));
}

TEST_F(AStepEnder, SaysWhyItCannot) {
  const auto a = Join(1);
  const auto ender = Begin(1);
  ASSERT_TRUE(Leads(1));
  EXPECT_EQ(ender->trouble(), "");
  Run("UPDATE polykern_open SET step = 5");  // nobody of ours does that
  std::string said;
  EXPECT_TRUE(Until([&] {
    said = ender->trouble();
    return !said.empty();
  }));
  EXPECT_THAT(said, HasSubstr("the store has step 5, not 0"));
  EXPECT_FALSE(ender->failure());
}

}  // namespace
}  // namespace polykern
