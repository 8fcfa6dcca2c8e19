// Rounds that take updates for steps which have ended.
#include <chrono>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/io/file_size_limit_testing.h"
#include "polykern/net/rounds/rounds_testing.h"
#include "polykern/net/wire.h"

namespace polykern {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

/// Rounds of pof-newton, whose updates are as good when they come late.
class RoundsWithLateUpdates : public RoundsOfAFederation {
 protected:
  RoundsWithLateUpdates() {
    configuration_.algorithm = "pof-newton";
    algorithm_ = MakeAlgorithm(configuration_);
    options_.use_late = true;
    options_.quorum.count = 1;
    options_.deadline = milliseconds(0);
  }
  void AnswerLate(const TestClient& client, std::uint64_t step) { Answer(client, step, 0, 0.5F); }
  std::uint64_t AcceptedOf(std::size_t client) {
    return store_->Contents().clients.at(client).accepted;
  }
  std::uint64_t AnsweredOf(std::size_t client) {
    return store_->Contents().clients.at(client).next_step;
  }
};

TEST_F(RoundsWithLateUpdates, CountBadNormsByTheirRule) {
  Start();
  const TestClient a = Join("a");
  Answer(a, 0, 0, 3);
  EXPECT_THAT(rounds_->status().rejected_for, ElementsAre(Pair("norm", 1)));
}

TEST_F(RoundsWithLateUpdates, CountThemInTheOpenStepAndItsQuorumOnce) {
  options_.quorum.count = 2;
  Start();
  const TestClient fast = Join("a");
  const TestClient slow = Join("b");
  const TestClient third = Join("c");
  EXPECT_TRUE(Expect<Welcome>(slow).uses_late);
  AnswerLate(fast, 0);
  AnswerLate(third, 0);
  ASSERT_EQ(step(), 1U);
  AnswerLate(slow, 0);
  EXPECT_EQ(step(), 1U);
  EXPECT_EQ(rounds_->status().used_late, 1U);
  AnswerLate(slow, 0);
  EXPECT_THAT(Expect<Verdict>(slow).reason, HasSubstr("was answered before"));
  EXPECT_EQ(Expect<ModelChange>(slow).step, 1U) << "and no word of what is not on the disk";
  AnswerLate(fast, 1);
  EXPECT_EQ(step(), 2U) << "two have sent";
  const auto counted = Expect<Verdict>(slow);
  EXPECT_TRUE(counted.accepted);
  EXPECT_EQ(counted.step, 0U);
  EXPECT_EQ(Expect<ModelChange>(slow).step, 2U);
  EXPECT_EQ(rounds_->status().accepted, 4U);
  EXPECT_EQ(AcceptedOf(1), 1U);
  EXPECT_EQ(AnsweredOf(1), 1U);
}

TEST_F(RoundsWithLateUpdates, EndAStepThatNoClientAnsweredInTime) {
  // Those who sent wait for a word of it; whoever could answer in time has gone.
  options_.deadline = milliseconds(50);
  Start();
  const TestClient gone = Join("a");
  const TestClient late = Join("b");
  AnswerLate(gone, 0);
  now_ += milliseconds(50);
  rounds_->Commit(now_);
  ASSERT_EQ(step(), 1U);
  Leave(gone);
  AnswerLate(late, 0);
  EXPECT_EQ(step(), 2U) << "nobody else is there";
  const TestClient back = Join("a");
  AnswerLate(late, 1);
  EXPECT_EQ(step(), 2U) << "the other may answer yet";
  now_ += milliseconds(50);
  rounds_->Commit(now_);
  EXPECT_EQ(step(), 3U);
}

TEST_F(RoundsWithLateUpdates, WaitForWhoAnswersLateAsForAnybody) {
  options_.quorum.count = 1;
  options_.deadline = milliseconds(50);
  Start();
  const TestClient a = Join("a");
  const TestClient b = Join("b");
  AnswerLate(a, 0);
  now_ += milliseconds(50);
  rounds_->Commit(now_);
  AnswerLate(b, 0);
  AnswerLate(a, 1);
  ASSERT_EQ(step(), 2U);
  AnswerLate(a, 2);
  EXPECT_EQ(step(), 2U) << "the other has sent something, if late";
  AnswerLate(b, 2);
  EXPECT_EQ(step(), 3U);
}

TEST_F(RoundsWithLateUpdates, DoNotCountAClientThatSendsAllItOwesAsAQuorum) {
  options_.quorum.count = 2;
  options_.deadline = milliseconds(50);
  Start();
  const std::vector<TestClient> clients = {Join("a"), Join("b"), Join("c")};
  for (std::uint64_t t = 0; t < 3; ++t) {
    AnswerLate(clients[1], t);
    AnswerLate(clients[2], t);
    now_ += milliseconds(50);
    rounds_->Commit(now_);
  }
  ASSERT_EQ(step(), 3U);
  for (std::uint64_t t = 0; t < 3; ++t) AnswerLate(clients[0], t);
  now_ += milliseconds(50);
  rounds_->Commit(now_);
  EXPECT_EQ(step(), 3U) << "three updates of one client";
  AnswerLate(clients[1], 3);
  EXPECT_EQ(step(), 4U);
}

TEST_F(RoundsWithLateUpdates, CountNothingTwiceAfterARestart) {
  options_.quorum.count = 2;
  Start();
  const TestClient first = Join("a");
  const TestClient slow = Join("b");
  AnswerLate(first, 0);
  AnswerLate(Join("c"), 0);
  ASSERT_EQ(step(), 1U);
  AnswerLate(slow, 0);  // late, in the open step, and lost with it
  Start();
  const TestClient again = Join("b");
  EXPECT_EQ(Expect<Welcome>(again).answered, 0U) << "so it sends it again";
  AnswerLate(again, 0);
  AnswerLate(Join("a"), 1);
  EXPECT_EQ(step(), 2U);
  EXPECT_EQ(AcceptedOf(1), 1U);
  Start();
  const TestClient third = Join("b");
  EXPECT_EQ(Expect<Welcome>(third).answered, 1U);
  AnswerLate(third, 0);
  EXPECT_EQ(rounds_->status().duplicates, 1U);
  EXPECT_EQ(rounds_->status().accepted, 0U);
}

TEST_F(RoundsWithLateUpdates, CountWhatComesWhileTheDiskIsFullWhenThereIsRoom) {
  // Its sender waits for a word of it before it sends another.
  on_disk_ = true;
  Start();
  const TestClient a = Join("a");
  const TestClient b = Join("b");
  Expect<Welcome>(b);
  const FileSizeLimit limit(1);
  AnswerLate(a, 0);
  ASSERT_THAT(rounds_->status().trouble, HasSubstr("the disk is full"));
  AnswerLate(b, 0);
  EXPECT_EQ(Next(b), std::nullopt);
  EXPECT_EQ(step(), 0U);
  limit.Lift();
  now_ += std::chrono::seconds(2);
  rounds_->Commit(now_);
  EXPECT_EQ(step(), 2U);
  EXPECT_TRUE(Expect<Verdict>(b).accepted);
  EXPECT_EQ(AcceptedOf(1), 1U);
  EXPECT_EQ(rounds_->status().late, 0U);
}

TEST_F(RoundsWithLateUpdates, ApplyEveryUpdateAsItComesWithoutRounds) {
  options_.use_late = false;
  options_.asynchronous = true;
  options_.quorum = {};
  Start();
  const std::vector<TestClient> clients = {Join("a"), Join("b"), Join("c")};
  for (std::uint64_t n = 0; n < 3; ++n) {  // all answer the model of step 0
    AnswerLate(clients[n], 0);
    EXPECT_EQ(step(), n + 1);
    EXPECT_EQ(store_->Contents().newest->steps, n + 1);
  }
  EXPECT_EQ(rounds_->status().used_late, 2U);
  AnswerLate(clients[2], 0);
  EXPECT_EQ(rounds_->status().rejected, 1U);
  AnswerLate(clients[2], 3);
  EXPECT_EQ(step(), 4U);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(AcceptedOf(k), k == 2 ? 2U : 1U);
}

TEST_F(RoundsWithLateUpdates, TakeInWhatComesWhileAStepIsWritten) {
  // Every update that one of four threads sends counts once, in the step after the one that is
  // being written, whoever comes first.
  options_.asynchronous = true;
  options_.roster = {"a", "b", "c", "d"};
  on_disk_ = true;
  Start();
  has_writer_ = true;
  std::jthread writer([this](const std::stop_token& stop) {
    while (rounds_->WaitForWork(stop, milliseconds(20))) rounds_->Commit(now_);
  });
  constexpr std::uint64_t kSent = 50;
  {
    std::vector<std::jthread> senders;
    for (const std::string& name : options_.roster) {
      senders.emplace_back([this, name] {
        const TestClient client = Join(name);
        std::uint64_t next = 0;
        for (std::uint64_t sent = 0; sent < kSent;) {
          const std::uint64_t now = step();
          if (now < next) continue;
          AnswerLate(client, now);
          next = now + 1;
          ++sent;
        }
      });
    }
  }
  while (rounds_->status().answered > 0) std::this_thread::yield();
  writer.request_stop();
  writer.join();
  EXPECT_EQ(rounds_->status().accepted, 4 * kSent);
  EXPECT_EQ(rounds_->status().rejected + rounds_->status().late, 0U);
  for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(AcceptedOf(k), kSent);
  // And each is a sample of kernel 0's regression: the last but one of its numbers.
  const std::vector<double> state = store_->Contents().newest->state;
  EXPECT_EQ(state[state.size() / configuration_.options.kernels - 2], 4.0 * kSent);
}

TEST_F(RoundsOfAFederation, RefuseLateUpdatesWhereTheyMeanNothing) {
  options_.use_late = true;
  EXPECT_THAT(MessageOf([&] { Start(); }), AllOf(HasSubstr("stale=accept"), HasSubstr("pof-mkl")));
  options_.use_late = false;
  options_.asynchronous = true;
  EXPECT_THAT(MessageOf([&] { Start(); }), HasSubstr("mode=async cannot be combined with pof-mkl"));
}

}  // namespace
}  // namespace polykern
