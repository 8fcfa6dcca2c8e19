// How many updates for steps that have ended a client may send, and who sends too many.
#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/random.h"
#include "polykern/net/rounds/rounds_testing.h"
#include "polykern/net/wire.h"

namespace polykern {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

/// Rounds of a federation where one answer ends a step, so that all others are late.
class RoundsUnderAFlood : public RoundsOfAFederation {
 protected:
  RoundsUnderAFlood() {
    options_.quorum.count = 1;
    options_.deadline = milliseconds(0);
    options_.most_violations = 3;
  }

  /// With updates that are as good when they come late.
  void UseLate(bool asynchronous) {
    configuration_.algorithm = "pof-newton";
    algorithm_ = MakeAlgorithm(configuration_);
    options_.use_late = true;
    options_.asynchronous = asynchronous;
  }

  void Send(const TestClient& client, std::uint64_t step) { Answer(client, step, 0, 0.5F); }

  void SendMoreThanItWasGiven() {
    Start();
    const TestClient fast = Join("a");
    for (std::uint64_t t = 0; t < 50; ++t) Send(fast, t);
    const TestClient flood = Join("b");
    Expect<Welcome>(flood);
    for (std::uint64_t t = 0; t < 5; ++t) Send(flood, t);
    // What it sent last, and what it was about to send, may have been before it came.
    EXPECT_EQ(rounds_->status().late + rounds_->status().used_late, 2U);
    EXPECT_THAT(rounds_->status().rejected_for, ElementsAre(Pair("step", 3)));
    EXPECT_THAT(Expect<Verdict>(flood).reason, HasSubstr("step 2 was over"));
    while (Next(flood)) continue;
    ASSERT_TRUE(EndOf(flood));
    EXPECT_EQ(EndOf(flood)->kind, Ending::Kind::kBusy);
    const std::uint64_t before = step();
    Send(fast, before);
    EXPECT_EQ(step(), before + 1) << "the others notice nothing";
  }

  void BeHonestAndSlow(std::uint64_t seed);
};

TEST_F(RoundsUnderAFlood, SendAwayWhoSendsALateUpdateAgainAndAgain) {
  Start();
  const TestClient fast = Join("a");
  const TestClient flood = Join("b");
  for (std::uint64_t t = 0; t < 4; ++t) Send(fast, t);
  Expect<Welcome>(flood);
  Send(flood, 2);  // late once: a slow link
  EXPECT_EQ(rounds_->status().rejected, 0U);
  for (const std::uint64_t step : {2U, 1U, 2U}) {
    Send(flood, step);
    EXPECT_THAT(Expect<Verdict>(flood).reason, HasSubstr("was answered before"));
  }
  Expect<Busy>(flood);
  ASSERT_TRUE(EndOf(flood));
  EXPECT_EQ(EndOf(flood)->kind, Ending::Kind::kBusy);
  EXPECT_EQ(rounds_->status().late, 1U);
  EXPECT_THAT(rounds_->status().rejected_for, ElementsAre(Pair("twice", 3)));
  Send(fast, 4);
  EXPECT_EQ(step(), 5U) << "the others notice nothing";
}

TEST_F(RoundsUnderAFlood, SendAwayWhoAnswersMoreStepsThanItWasGiven) {
  SendMoreThanItWasGiven();
}

TEST_F(RoundsUnderAFlood, SendAwayWhoWantsToCountForStepsItWasNotGiven) {
  UseLate(false);
  SendMoreThanItWasGiven();
}

TEST_F(RoundsUnderAFlood, SendAwayWhoWantsToCountForStepsItWasNotGivenWithoutRounds) {
  UseLate(true);
  SendMoreThanItWasGiven();
}

/// An agent as the rounds see it: it answers models it was given, each once and in their order,
/// after any time. After a lost connection it sends its last update again, if that may be of use,
/// and a label may come for a prediction from before.
struct SlowAgent {
  TestClient connection;
  bool welcomed = false;
  bool uses_late = false;
  std::uint64_t model = 0;               // its step
  std::uint64_t answered = 0;            // 1 + the last step it answered
  std::uint64_t counted = 0;             // and of those that the server says are on its disk
  std::optional<std::uint64_t> playing;  // the step of the prediction that waits for its label
  std::deque<std::uint64_t> under_way;   // answers

  bool MayAnswer(std::uint64_t step) const {
    return step >= answered && (!uses_late || counted >= answered);
  }
  void Hear(const ServerMessage& message) {
    if (const auto* welcome = std::get_if<Welcome>(&message)) {
      welcomed = true;
      uses_late = welcome->uses_late;
      model = welcome->model.step;
      counted = welcome->answered;
      if (counted < answered && (uses_late || model + 1 == answered)) {
        under_way.push_back(answered - 1);
      }
    } else if (const auto* change = std::get_if<ModelChange>(&message)) {
      model = change->step;
    } else if (const auto* verdict = std::get_if<Verdict>(&message)) {
      counted = std::max(counted, verdict->step + 1);
    }
  }
  void Learn() {
    if (playing && MayAnswer(*playing)) {
      answered = *playing + 1;
      if (welcomed) under_way.push_back(*playing);
    }
    playing.reset();
  }
};

void RoundsUnderAFlood::BeHonestAndSlow(std::uint64_t seed) {
  Start();
  Random random(seed, Purpose::kTest);
  TestClient fast = Join("a");
  SlowAgent slow;
  slow.connection = Join("b");
  std::uint64_t late = 0;
  for (int n = 0; n < 500; ++n) {
    switch (random.Below(random.Below(8) == 0 ? 8 : 6)) {
      case 0:
        Send(fast, step());
        break;
      case 1:
      case 2:
        if (const auto message = Next(slow.connection)) slow.Hear(*message);
        break;
      case 3:
        if (!slow.playing && slow.model >= slow.answered) slow.playing = slow.model;
        break;
      case 4:
        slow.Learn();
        break;
      case 5:
        if (slow.under_way.empty()) break;
        Send(slow.connection, slow.under_way.front());
        slow.under_way.pop_front();
        break;
      default:  // the connection is lost, or the server is started again
        if (random.Below(4) == 0) {
          late += rounds_->status().late + rounds_->status().used_late;
          ASSERT_EQ(rounds_->status().rejected, 0U);
          Start();
          fast = Join("a");
        } else if (random.Below(2) == 0) {
          Leave(slow.connection);
        }
        slow.connection = Join("b");
        slow.welcomed = false;
        slow.under_way.clear();
    }
    ASSERT_EQ(rounds_->status().rejected, 0U) << "after " << n;
  }
  EXPECT_GT(late + rounds_->status().late + rounds_->status().used_late, 10U);
}

TEST_F(RoundsUnderAFlood, NeverPunishAnHonestClientHoweverSlow) {
  BeHonestAndSlow(1);
}

TEST_F(RoundsUnderAFlood, NeverPunishAnHonestClientWhoseLateUpdatesCount) {
  UseLate(false);
  BeHonestAndSlow(2);
}

TEST_F(RoundsUnderAFlood, NeverPunishAnHonestClientWithoutRounds) {
  UseLate(true);
  BeHonestAndSlow(3);
}

}  // namespace
}  // namespace polykern
