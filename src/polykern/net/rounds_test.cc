#include <chrono>
#include <condition_variable>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/net/file_size_limit-inl.h"
#include "polykern/net/rounds.h"
#include "polykern/test_folder-inl.h"

namespace polykern {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class CountingPeer final : public Rounds::Peer {
 public:
  void Wake() override { ++wakes; }
  int wakes = 0;
};

/// A client of the rounds: what it was given, and what it answers.
struct TestClient {
  std::shared_ptr<CountingPeer> peer = std::make_shared<CountingPeer>();
  Rounds::Session session = 0;
};

class RoundsOfAFederation : public testing::Test {
 protected:
  RoundsOfAFederation() {
    configuration_.options.kernels = 4;
    configuration_.options.features = 2;
    configuration_.options.kernels_per_upload = 2;
    configuration_.problem = {3, 100, 1};
    algorithm_ = MakeAlgorithm(configuration_);
    options_.roster = {"a", "b", "c"};
  }

  void Start() {
    rounds_.reset();
    store_.reset();
    store_.emplace(folder_.At("store.db"), ToTexts(configuration_));
    rounds_.emplace(*algorithm_, ToTexts(configuration_), *store_, options_);
  }

  TestClient Join(const std::string& name, Hello hello = {}) {
    TestClient client;
    client.session = rounds_->Join(name, hello, client.peer, now_);
    return client;
  }

  std::optional<ServerMessage> Next(const TestClient& client) {
    const Outgoing out = rounds_->Take(client.session);
    if (out.message == nullptr) return {};
    return DecodeServerMessage(*out.message);
  }
  std::optional<Ending> EndOf(const TestClient& client) {
    return rounds_->Take(client.session).ending;
  }
  template <typename T>
  T Expect(const TestClient& client) {
    const auto message = Next(client);
    const T* got = message ? std::get_if<T>(&*message) : nullptr;
    EXPECT_NE(got, nullptr);
    return got != nullptr ? *got : T();
  }

  void Answer(const TestClient& client, std::uint64_t step, std::uint32_t kernel = 0,
              float value = 1) {
    Updates updates;
    updates.step = step;
    updates.clients = {99};  // what a client claims to be does not matter
    updates.first = {0, 1};
    updates.blocks = {kernel};
    updates.values.assign(4, value);
    rounds_->Receive(client.session, std::move(updates), now_);
  }

  std::uint64_t step() const { return rounds_->status().step; }

  TestFolder folder_;
  FederationConfiguration configuration_;
  std::unique_ptr<Algorithm> algorithm_;
  RoundsOptions options_;
  std::optional<Store> store_;
  std::optional<Rounds> rounds_;
  Rounds::Time now_{seconds(1000)};
};

TEST_F(RoundsOfAFederation, WelcomeAClientWithItsNumberAndTheWholeModel) {
  Start();
  const TestClient b = Join("b");
  EXPECT_GT(b.peer->wakes, 0);
  const auto welcome = Expect<Welcome>(b);
  EXPECT_EQ(welcome.client, 1U);
  EXPECT_EQ(welcome.configuration, ToTexts(configuration_));
  EXPECT_THAT(welcome.model.blocks, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(Next(b), std::nullopt);
}

TEST_F(RoundsOfAFederation, EndAStepWhenEverybodyHasAnsweredAndSendWhatChanged) {
  Start();
  const std::vector<TestClient> clients = {Join("a"), Join("b"), Join("c")};
  for (const auto& client : clients) Expect<Welcome>(client);
  Answer(clients[0], 0, 1, 3);
  Answer(clients[2], 0, 2, 3);
  EXPECT_EQ(step(), 0U);
  now_ += seconds(100000);  // all means all, whatever the deadline
  rounds_->Tick(now_);
  EXPECT_EQ(step(), 0U);
  Answer(clients[1], 0, 1, 3);
  EXPECT_EQ(step(), 1U);
  for (const auto& client : clients) {
    const auto change = Expect<ModelChange>(client);
    EXPECT_EQ(change.step, 1U);
    EXPECT_THAT(change.blocks, ElementsAre(1, 2));
    EXPECT_THAT(change.values, ElementsAre(-2, -2, -2, -2, -1, -1, -1, -1));  // means of three
    EXPECT_EQ(Next(client), std::nullopt);
  }
}

TEST_F(RoundsOfAFederation, GiveASlowClientTheNewestModelAndNoQueue) {
  options_.quorum.count = 1;
  options_.deadline = milliseconds(0);
  Start();
  const TestClient fast = Join("a");
  const TestClient slow = Join("b");
  Expect<Welcome>(slow);
  for (std::uint32_t t = 0; t < 3; ++t) Answer(fast, t, t);
  const auto change = Expect<ModelChange>(slow);
  EXPECT_EQ(change.step, 3U);
  EXPECT_THAT(change.blocks, ElementsAre(0, 1, 2));
  EXPECT_EQ(Next(slow), std::nullopt);
}

TEST_F(RoundsOfAFederation, EndAStepAtTheDeadlineWithAQuorum) {
  options_.quorum.share = 0.6;  // two of three
  options_.deadline = seconds(10);
  Start();
  const std::vector<TestClient> clients = {Join("a"), Join("b"), Join("c")};
  Answer(clients[0], 0);
  now_ += seconds(11);
  rounds_->Tick(now_);
  EXPECT_EQ(step(), 0U) << "one is no quorum";
  Answer(clients[1], 0);
  EXPECT_EQ(step(), 1U) << "the deadline has passed";
  Answer(clients[2], 0);
  EXPECT_EQ(rounds_->status().late, 1U);
  EXPECT_EQ(rounds_->status().rejected, 0U);
  Answer(clients[0], 1);
  Answer(clients[1], 1);
  rounds_->Tick(now_ + seconds(9));
  EXPECT_EQ(step(), 1U);
  rounds_->Tick(now_ + seconds(10));
  EXPECT_EQ(step(), 2U);
}

TEST_F(RoundsOfAFederation, WaitForASilentClientOnceAndForOneThatAnswersLateAgain) {
  options_.quorum.count = 1;
  options_.deadline = seconds(10);
  Start();
  const TestClient a = Join("a");
  const TestClient b = Join("b");
  Answer(a, 0);
  EXPECT_EQ(step(), 0U);  // b may still answer
  now_ += seconds(10);
  rounds_->Tick(now_);
  EXPECT_EQ(step(), 1U);
  Answer(a, 1);
  EXPECT_EQ(step(), 2U);  // b did not, and costs nothing any more
  rounds_->Leave(b.session, now_);
  const TestClient again = Join("b");  // nor does a new connection
  Answer(a, 2);
  EXPECT_EQ(step(), 3U);
  Answer(again, 1);  // late, but it is there
  Answer(a, 3);
  EXPECT_EQ(step(), 3U);
  Answer(again, 3);
  EXPECT_EQ(step(), 4U);
  EXPECT_EQ(rounds_->status().late, 1U);
}

TEST_F(RoundsOfAFederation, DoNotWaitForThoseWhoLeft) {
  options_.quorum.count = 2;
  Start();
  const std::vector<TestClient> clients = {Join("a"), Join("b"), Join("c")};
  Answer(clients[0], 0);
  Answer(clients[1], 0);
  EXPECT_EQ(step(), 0U);
  rounds_->Leave(clients[2].session, now_);
  EXPECT_EQ(step(), 1U);
}

TEST_F(RoundsOfAFederation, CountAnAnswerOnceWhateverTheConnection) {
  Start();
  const TestClient first = Join("a");
  Answer(first, 0);
  const TestClient again = Join("a");
  EXPECT_EQ(EndOf(first)->kind, Ending::Kind::kReplaced);
  Expect<Welcome>(again);
  Answer(again, 0);  // it cannot know that the first one arrived
  EXPECT_EQ(Next(again), std::nullopt);
  EXPECT_EQ(rounds_->status().duplicates, 1U);
  Answer(again, 0);  // but now it could
  EXPECT_THAT(Expect<Rejection>(again).reason, HasSubstr("answered already"));
  EXPECT_EQ(rounds_->status().accepted, 1U);
  rounds_->Leave(first.session, now_);
  EXPECT_EQ(rounds_->status().connected, 1U);
}

TEST_F(RoundsOfAFederation, GoOnAfterARestartAndAskForOpenAnswersAgain) {
  Start();
  for (const char* name : {"a", "b", "c"}) Answer(Join(name), 0);
  const TestClient a = Join("a");
  Answer(a, 1, 0, 5);
  Start();
  EXPECT_EQ(step(), 1U);
  const std::vector<TestClient> clients = {Join("a"), Join("b"), Join("c")};
  EXPECT_EQ(Expect<Welcome>(clients[0]).model.step, 1U);
  Expect<Welcome>(clients[1]);
  for (const auto& client : clients) Answer(client, 1, 0, 5);
  EXPECT_EQ(step(), 2U);
  EXPECT_THAT(Expect<ModelChange>(clients[1]).values, ElementsAre(-6, -6, -6, -6));
  for (const StoredClient& client : store_->clients()) EXPECT_EQ(client.accepted, 2U);
}

TEST_F(RoundsOfAFederation, AnswerBadUpdatesAndSendTheirSenderAway) {
  options_.most_violations = 3;
  options_.ban = seconds(60);
  Start();
  const TestClient a = Join("a");
  Expect<Welcome>(a);
  Answer(a, 7);
  EXPECT_THAT(Expect<Rejection>(a).reason, HasSubstr("the server is at step 0"));
  Answer(a, 0, 4);
  EXPECT_THAT(Expect<Rejection>(a).reason, HasSubstr("no kernel 4"));
  EXPECT_EQ(EndOf(a), std::nullopt);
  Answer(a, 0, 0, 1e9F);
  EXPECT_THAT(Expect<Rejection>(a).reason, HasSubstr("above 512"));
  EXPECT_EQ(Expect<Busy>(a).latest_milliseconds, 30000U);
  EXPECT_EQ(EndOf(a)->kind, Ending::Kind::kBusy);
  const TestClient back = Join("a");
  Expect<Busy>(back);
  EXPECT_EQ(EndOf(back)->kind, Ending::Kind::kBusy);
  Answer(back, 0);
  EXPECT_EQ(rounds_->status().accepted, 0U);
  now_ += seconds(60);
  const TestClient later = Join("a");
  Expect<Welcome>(later);
  Answer(later, 0);
  EXPECT_EQ(rounds_->status().accepted, 1U);
}

TEST_F(RoundsOfAFederation, LetInOnlyWhoMayTakePart) {
  Start();
  EXPECT_EQ(EndOf(Join("d"))->kind, Ending::Kind::kRefused);
  EXPECT_EQ(EndOf(Join("a", {.version = 3, .next_step = 0}))->kind, Ending::Kind::kVersion);
  EXPECT_EQ(rounds_->status().connected, 0U);
  options_.roster.clear();
  options_.most_clients = 4;
  Start();
  EXPECT_EQ(Expect<Welcome>(Join("d")).client, 3U);
  const TestClient e = Join("e");
  EXPECT_THAT(Expect<Busy>(e).reason, HasSubstr("no room"));
  EXPECT_EQ(EndOf(e)->kind, Ending::Kind::kBusy);
}

TEST_F(RoundsOfAFederation, SpeakTheClientsVersionOfTheProtocol) {
  Start();
  for (const std::uint32_t version : {1U, 2U}) {
    EXPECT_EQ(Expect<Welcome>(Join("a", {.version = version, .next_step = 0})).version, version);
  }
}

/// Writes down what it hears.
class ListeningObserver final : public RoundsObserver {
 public:
  void Event(const std::string& client, const std::string& event, const std::string&) override {
    heard.push_back(client + " " + event);
  }
  void StepEnded(std::uint64_t step, std::size_t participants, Rounds::Time first) override {
    heard.push_back("step " + std::to_string(step) + " of " + std::to_string(participants));
    firsts.push_back(first);
  }
  std::vector<std::string> heard;
  std::vector<Rounds::Time> firsts;
};

TEST_F(RoundsOfAFederation, TellTheirObserverWhatHappens) {
  ListeningObserver observer;
  options_.roster = {"a", "b"};
  options_.observer = &observer;
  Start();
  const TestClient a = Join("a");
  const TestClient b = Join("b");
  Join("stranger");
  Answer(a, 0, 9);  // there is no such kernel
  Answer(a, 0);
  const Rounds::Time first = now_;
  now_ += seconds(3);
  Answer(b, 0);
  rounds_->Refused("c", "revoked");
  rounds_->Leave(b.session, now_);
  EXPECT_THAT(observer.heard, ElementsAre("a joined", "b joined", "stranger refused", "a rejected",
                                          "step 1 of 2", "c refused", "b left"));
  EXPECT_THAT(observer.firsts, ElementsAre(first));
  EXPECT_EQ(rounds_->status().refused, 2U);
  rounds_.reset();  // before its observer
}

TEST_F(RoundsOfAFederation, CountWhatIsRejectedByTheRuleThatWasBroken) {
  options_.most_violations = 100;
  Start();
  const TestClient a = Join("a");
  const auto send = [&](Updates updates) { rounds_->Receive(a.session, std::move(updates), now_); };
  Updates good;
  good.clients = {0};
  good.first = {0, 1};
  good.blocks = {0};
  good.values.assign(4, 1);
  Updates bad = good;
  bad.values[1] = std::numeric_limits<float>::quiet_NaN();
  send(bad);
  bad.values[1] = 1e30F;
  send(bad);
  bad = good;
  bad.blocks = {4};
  send(bad);
  bad.blocks = {1, 1};
  bad.first = {0, 2};
  bad.values.assign(8, 1);
  send(bad);
  bad.blocks = {0, 1, 2};
  bad.first = {0, 3};
  bad.values.assign(12, 1);
  send(bad);
  bad = good;
  bad.values.pop_back();
  send(bad);
  bad = good;
  bad.step = 7;
  send(bad);
  send(good);
  send(good);
  rounds_->Broken(a.session, "noise", now_);
  const std::map<std::string, std::uint64_t> wanted = {
      {"numbers", 2}, {"kernels", 3}, {"lengths", 1}, {"step", 1}, {"twice", 1}, {"message", 1}};
  EXPECT_EQ(rounds_->status().rejected_for, wanted);
  EXPECT_EQ(rounds_->status().rejected, 9U);
}

TEST_F(RoundsOfAFederation, CountBadLossesByTheirRule) {
  configuration_.algorithm = "fomd-oms";
  algorithm_ = MakeAlgorithm(configuration_);
  Start();
  const TestClient a = Join("a");
  Updates updates;
  updates.clients = {0};
  updates.first = {0, 2};
  updates.blocks = {0, 1};
  updates.values.assign(8, 1);
  updates.losses = {0.5F, -0.5F};
  rounds_->Receive(a.session, updates, now_);
  EXPECT_THAT(rounds_->status().rejected_for, ElementsAre(Pair("losses", 1)));
}

TEST_F(RoundsOfAFederation, PutReportsTogetherByHowManyPredictionsTheyAreAbout) {
  Start();
  const TestClient a = Join("a");
  const TestClient b = Join("b");
  EXPECT_EQ(rounds_->status().reporting, 0U);
  rounds_->Note(a.session, {10, 0.5, 4});
  rounds_->Note(a.session, {30, 0.1, 5});  // takes the place of the one before
  rounds_->Note(b.session, {10, 0.5, -1});
  rounds_->Leave(b.session, now_);
  rounds_->Note(b.session, {99, 9, 9});  // of nobody
  const RoundsStatus status = rounds_->status();
  EXPECT_EQ(status.reporting, 2U);
  EXPECT_DOUBLE_EQ(status.reported_squared_error, (30 * 0.1 + 10 * 0.5) / 40);
  EXPECT_DOUBLE_EQ(status.reported_regret, 2);
}

TEST_F(RoundsOfAFederation, PutOutWhoIsExpelledAndWhoSendsNonsense) {
  options_.quorum.count = 1;
  Start();
  const std::vector<TestClient> clients = {Join("a"), Join("b"), Join("c")};
  for (const auto& client : clients) Expect<Welcome>(client);
  Answer(clients[0], 0);
  rounds_->Expel("b", "revoked", now_);
  EXPECT_EQ(EndOf(clients[1])->reason, "revoked");
  EXPECT_EQ(step(), 0U);
  rounds_->Broken(clients[2].session, "noise", now_);
  Expect<Rejection>(clients[2]);
  EXPECT_EQ(EndOf(clients[2])->kind, Ending::Kind::kBroken);
  EXPECT_EQ(step(), 1U) << "nobody else is connected";
}

TEST_F(RoundsOfAFederation, EndWhenTheyShouldAndSaySo) {
  options_.steps = 1;
  options_.roster = {"a"};
  Start();
  const TestClient a = Join("a");
  EXPECT_FALSE(Expect<Welcome>(a).model.finished);
  Answer(a, 0);
  EXPECT_TRUE(Expect<ModelChange>(a).finished);
  Answer(a, 1);
  EXPECT_THAT(Expect<Rejection>(a).reason, HasSubstr("ended"));
  EXPECT_THAT(rounds_->status().rejected_for, ElementsAre(Pair("ended", 1)));
  Start();
  EXPECT_TRUE(Expect<Welcome>(Join("a")).model.finished);
}

TEST_F(RoundsOfAFederation, TellNobodyOfAStepThatTheDiskHasNoRoomFor) {
  options_.roster = {"a"};
  Start();
  const TestClient a = Join("a");
  Expect<Welcome>(a);
  const FileSizeLimit limit(1);
  Answer(a, 0, 0, 3);
  EXPECT_THAT(rounds_->status().trouble, HasSubstr("the disk is full"));
  EXPECT_EQ(step(), 0U);
  EXPECT_EQ(Next(a), std::nullopt);
  Answer(a, 0, 0, 3);  // not taken twice, either
  EXPECT_EQ(rounds_->status().accepted, 1U);
  now_ += seconds(2);
  rounds_->Tick(now_);
  EXPECT_EQ(step(), 0U);
  limit.Lift();
  now_ += seconds(2);
  rounds_->Tick(now_);
  EXPECT_EQ(rounds_->status().trouble, "");
  EXPECT_THAT(Expect<ModelChange>(a).values, ElementsAre(-3, -3, -3, -3));
  Start();
  EXPECT_EQ(step(), 1U);
}

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
  std::uint64_t AcceptedOf(std::size_t client) { return store_->clients().at(client).accepted; }
  std::uint64_t AnsweredOf(std::size_t client) { return store_->clients().at(client).answered; }
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
  EXPECT_THAT(Expect<Rejection>(slow).reason, HasSubstr("answered already"));
  EXPECT_EQ(Expect<ModelChange>(slow).step, 1U) << "and no word of what is not on the disk";
  AnswerLate(fast, 1);
  EXPECT_EQ(step(), 2U) << "two have sent";
  const auto counted = Expect<Rejection>(slow);
  EXPECT_EQ(counted.reason, "");
  EXPECT_EQ(counted.step, 0U);
  EXPECT_EQ(Expect<ModelChange>(slow).step, 2U);
  EXPECT_EQ(rounds_->status().accepted, 4U);
  EXPECT_EQ(AcceptedOf(1), 1U);
  EXPECT_EQ(AnsweredOf(1), 1U);
}

TEST_F(RoundsWithLateUpdates, EndAStepThatNobodyAnsweredInTime) {
  // Those who sent wait for a word of it; whoever could answer in time has gone.
  options_.deadline = milliseconds(50);
  Start();
  const TestClient gone = Join("a");
  const TestClient late = Join("b");
  AnswerLate(gone, 0);
  now_ += milliseconds(50);
  rounds_->Tick(now_);
  ASSERT_EQ(step(), 1U);
  rounds_->Leave(gone.session, now_);
  AnswerLate(late, 0);
  EXPECT_EQ(step(), 2U) << "nobody else is there";
  const TestClient back = Join("a");
  AnswerLate(late, 1);
  EXPECT_EQ(step(), 2U) << "the other may answer yet";
  now_ += milliseconds(50);
  rounds_->Tick(now_);
  EXPECT_EQ(step(), 3U);
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

TEST_F(RoundsWithLateUpdates, ApplyEveryUpdateAsItComesWithoutRounds) {
  options_.use_late = false;
  options_.asynchronous = true;
  options_.quorum = {};
  Start();
  const std::vector<TestClient> clients = {Join("a"), Join("b"), Join("c")};
  for (std::uint64_t n = 0; n < 3; ++n) {  // all answer the model of step 0
    AnswerLate(clients[n], 0);
    EXPECT_EQ(step(), n + 1);
    EXPECT_EQ(store_->Resume()->steps, n + 1);
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
  Start();
  std::mutex mutex;
  std::condition_variable_any changed;
  bool due = false;
  rounds_->CommitElsewhere([&] {
    const std::lock_guard lock(mutex);
    due = true;
    changed.notify_one();
  });
  std::jthread committer([&](const std::stop_token& stop) {
    for (;;) {
      {
        std::unique_lock lock(mutex);
        if (!changed.wait(lock, stop, [&] { return due; })) return;
        due = false;
      }
      rounds_->Commit(now_);
    }
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
  committer.request_stop();
  committer.join();
  rounds_->CommitElsewhere({});
  EXPECT_EQ(rounds_->status().accepted, 4 * kSent);
  EXPECT_EQ(rounds_->status().rejected + rounds_->status().late, 0U);
  for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(AcceptedOf(k), kSent);
  // And each is a sample of kernel 0's regression: the last but one of its numbers.
  const std::vector<double> state = store_->Resume()->state;
  EXPECT_EQ(state[state.size() / configuration_.options.kernels - 2], 4.0 * kSent);
}

TEST_F(RoundsOfAFederation, RefuseLateUpdatesWhereTheyMeanNothing) {
  options_.use_late = true;
  EXPECT_THAT(MessageOf([&] { Start(); }),
              AllOf(HasSubstr("--stale accept"), HasSubstr("pof-mkl")));
  options_.use_late = false;
  options_.asynchronous = true;
  EXPECT_THAT(MessageOf([&] { Start(); }), HasSubstr("--mode async does not go with pof-mkl"));
}

TEST_F(RoundsOfAFederation, TellWhoFindsNoRoomWhenToComeBack) {
  options_.most_connected = 2;
  options_.retry_earliest = milliseconds(500);
  Start();
  const std::vector<TestClient> clients = {Join("a"), Join("b"), Join("c")};
  const auto busy = Expect<Busy>(clients[2]);
  EXPECT_EQ(busy.earliest_milliseconds, 500U);
  EXPECT_EQ(busy.latest_milliseconds, 30000U);
  EXPECT_EQ(EndOf(clients[2])->kind, Ending::Kind::kBusy);
  Expect<Welcome>(Join("b"));  // takes its own place
  EXPECT_EQ(rounds_->status().connected, 2U);
  rounds_->Leave(clients[0].session, now_);
  Expect<Welcome>(Join("c"));
}

TEST_F(RoundsOfAFederation, RefuseAStoreWhoseClientsHaveOtherNumbers) {
  Start();
  options_.roster = {"b", "a", "c"};
  EXPECT_THROW(Start(), Error);
  options_.roster = {"a", "b"};
  EXPECT_THROW(Start(), Error);
  options_.roster = {"a", "b", "c", "d"};
  EXPECT_NO_THROW(Start());
}

TEST(AQuorum, IsANumberOrAShareOfTheEnrolled) {
  EXPECT_EQ(Quorum{}.Of(8), 8U);
  EXPECT_EQ(Quorum{}.Of(0), 1U);
  EXPECT_EQ((Quorum{.count = 3}.Of(8)), 3U);
  EXPECT_EQ((Quorum{.count = 0, .share = 0.5}.Of(7)), 4U);
  EXPECT_EQ((Quorum{.count = 0, .share = 0.01}.Of(7)), 1U);
}

}  // namespace
}  // namespace polykern
