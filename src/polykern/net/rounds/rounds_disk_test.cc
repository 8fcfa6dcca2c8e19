// Rounds and the disk: what waits for it, and what happens when it is slow, full or fails.
#include <chrono>
#include <optional>
#include <semaphore>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/io/file_size_limit_testing.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/rounds/rounds_testing.h"

namespace polykern {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(RoundsOfAFederation, KeepQuietAboutAStepThatTheDiskHasNoRoomFor) {
  options_.roster = {"a"};
  on_disk_ = true;
  Start();
  const TestClient a = Join("a");
  Expect<Welcome>(a);
  const FileSizeLimit limit(1);
  Answer(a, 0, 0, 3);
  EXPECT_THAT(rounds_->status().trouble, HasSubstr("the disk is full"));
  EXPECT_EQ(step(), 0U);
  EXPECT_EQ(Next(a), std::nullopt);
  Answer(a, 0, 0, 3);  // not taken twice, either
  EXPECT_THAT(Expect<Verdict>(a).reason, HasSubstr("was answered before"));
  EXPECT_EQ(rounds_->status().accepted, 1U);
  now_ += seconds(2);
  rounds_->Commit(now_);
  EXPECT_EQ(step(), 0U);
  limit.Lift();
  now_ += seconds(2);
  rounds_->Commit(now_);
  EXPECT_EQ(rounds_->status().trouble, "");
  EXPECT_THAT(Expect<ModelChange>(a).values, ElementsAre(-3, -3, -3, -3));
  Start();
  EXPECT_EQ(step(), 1U);
}

TEST_F(RoundsOfAFederation, WelcomeANewClientWhenItIsOnTheDisk) {
  options_.roster = {};
  has_writer_ = true;  // which this test is
  Start();
  const TestClient a = Join("a");
  const TestClient b = Join("b");
  const int wakes = b.peer->wakes;
  EXPECT_EQ(Next(a), std::nullopt);
  EXPECT_EQ(Next(b), std::nullopt);
  EXPECT_EQ(rounds_->status().connected, 2U);
  EXPECT_TRUE(store_->Contents().clients.empty());
  rounds_->Commit(now_);
  EXPECT_EQ(store_->Contents().clients.size(), 2U);
  EXPECT_GT(b.peer->wakes, wakes);
  EXPECT_EQ(Expect<Welcome>(a).client, 0U);
  EXPECT_EQ(Expect<Welcome>(b).client, 1U);
  EXPECT_EQ(Expect<Welcome>(Join("a")).client, 0U) << "who is known need not wait";
}

TEST_F(RoundsOfAFederation, LetNewClientsWaitWhileTheDiskIsFull) {
  options_.roster = {};
  on_disk_ = true;
  Start();
  const FileSizeLimit limit(1);
  const TestClient a = Join("a");
  EXPECT_THAT(rounds_->status().trouble, HasSubstr("the disk is full"));
  const TestClient b = Join("b");
  EXPECT_EQ(Next(a), std::nullopt);
  limit.Lift();
  EXPECT_EQ(Next(b), std::nullopt);
  now_ += seconds(1);
  Write();
  EXPECT_EQ(rounds_->status().trouble, "");
  EXPECT_EQ(Expect<Welcome>(a).client, 0U);
  EXPECT_EQ(Expect<Welcome>(b).client, 1U);
}

TEST_F(RoundsOfAFederation, HaveWorkWhenAClientIsNewOrAStepIsDue) {
  options_.roster = {};
  options_.quorum.count = 1;
  options_.deadline = milliseconds(0);
  has_writer_ = true;  // which this test is
  Start();
  const TestClient a = Join("a");
  const TestClient b = Join("b");
  const std::stop_source stop;
  EXPECT_TRUE(rounds_->WaitForWork(stop.get_token(), std::chrono::hours(1)));
  rounds_->Commit(now_);
  Answer(a, 0);
  EXPECT_TRUE(rounds_->WaitForWork(stop.get_token(), std::chrono::hours(1)));
  EXPECT_EQ(step(), 0U);
  rounds_->Commit(now_);
  EXPECT_EQ(step(), 1U);
  EXPECT_TRUE(rounds_->WaitForWork(stop.get_token(), milliseconds(1))) << "with nothing to do";
  stop.request_stop();
  EXPECT_FALSE(rounds_->WaitForWork(stop.get_token(), std::chrono::hours(1)));
}

TEST_F(RoundsOfAFederation, WriteWithTheLastAnswerOfAll) {
  has_writer_ = true;  // which has nothing to do
  Start();
  const std::vector<TestClient> clients = {Join("a"), Join("b"), Join("c")};
  for (const auto& client : clients) {
    EXPECT_EQ(step(), 0U);
    Answer(client, 0);
  }
  EXPECT_EQ(step(), 1U);
}

/// A store on a disk that works when it is let.
class SlowStore final : public Store {
 public:
  explicit SlowStore(Store& store) : store_(store) {}
  StoreContents Contents() override { return store_.Contents(); }
  void CheckRoom(std::size_t numbers) const override { store_.CheckRoom(numbers); }
  void Write(const StoreBatch& batch) override {
    began.release();
    go_on.acquire();
    store_.Write(batch);
    batches.push_back(batch.clients.size());
  }
  void Fill(const StoreContents& other) override { store_.Fill(other); }
  Pruned Prune(const PruneOptions& options) override { return store_.Prune(options); }
  void Compact() override { store_.Compact(); }

  std::counting_semaphore<> began{0};
  std::counting_semaphore<> go_on{0};
  std::vector<std::size_t> batches;  // clients in each

 private:
  Store& store_;
};

TEST_F(RoundsOfAFederation, LetOnlyTheWriterWaitForTheDisk) {
  options_.roster = {};
  options_.quorum.count = 1;
  options_.deadline = milliseconds(0);
  has_writer_ = true;
  store_ = OpenStore("memory:", ToTexts(configuration_));
  SlowStore slow(*store_);
  rounds_.emplace(*algorithm_, slow, options_);
  std::jthread writer([this](const std::stop_token& stop) {
    while (rounds_->WaitForWork(stop, milliseconds(20))) rounds_->Commit(now_);
  });
  const TestClient a = Join("a");
  slow.began.acquire();
  const std::vector<TestClient> others = {Join("b"), Join("c"), Join("d")};
  EXPECT_EQ(rounds_->status().connected, 4U);
  EXPECT_EQ(Next(a), std::nullopt) << "its enrolment is being written";
  slow.go_on.release();
  slow.began.acquire();  // the writer has what came meanwhile
  Expect<Welcome>(a);
  Answer(a, 0);
  Answer(a, 0, 9);  // is rejected, with a line of the log
  Leave(others[0]);
  EXPECT_EQ(rounds_->status().accepted, 1U);
  slow.go_on.release();
  slow.began.acquire();  // the step
  EXPECT_EQ(step(), 0U);
  EXPECT_EQ(Expect<Welcome>(others[1]).client, 2U);
  EXPECT_EQ(Expect<Welcome>(Join("c")).model.step, 0U) << "nobody hears of it yet";
  slow.go_on.release();
  while (step() == 0) std::this_thread::yield();
  writer.request_stop();
  writer.join();
  slow.go_on.release();  // for the log's last lines
  rounds_.reset();
  EXPECT_THAT(slow.batches, ElementsAre(1, 3, 0, 0)) << "three enrolments in one transaction";
}

/// A store that fails, after so many writes.
class FailingStore final : public Store {
 public:
  FailingStore(Store& store, int writes) : store_(store), left_(writes) {}
  StoreContents Contents() override { return store_.Contents(); }
  void CheckRoom(std::size_t numbers) const override { store_.CheckRoom(numbers); }
  void Write(const StoreBatch& batch) override {
    if (left_-- == 0) throw Error("the disk is broken");
    store_.Write(batch);
  }
  void Fill(const StoreContents& other) override { store_.Fill(other); }
  Pruned Prune(const PruneOptions& options) override { return store_.Prune(options); }
  void Compact() override { store_.Compact(); }

 private:
  Store& store_;
  int left_;
};

TEST_F(RoundsOfAFederation, SayWhenTheStoreFailsAndKeepQuietAboutTheStep) {
  store_ = OpenStore("memory:", ToTexts(configuration_));
  FailingStore failing(*store_, 2);
  rounds_.emplace(*algorithm_, failing, options_);  // the roster is the first write
  const std::vector<TestClient> clients = {Join("a"), Join("b"), Join("c")};
  for (const auto& client : clients) Expect<Welcome>(client);
  for (const auto& client : clients) Answer(client, 0);
  EXPECT_EQ(step(), 1U);
  for (const auto& client : clients) Expect<ModelChange>(client);
  for (const auto& client : clients) Answer(client, 1);
  ASSERT_TRUE(rounds_->status().failure);
  EXPECT_STREQ(rounds_->status().failure->what(), "the disk is broken");
  EXPECT_EQ(step(), 1U);
  for (const auto& client : clients) EXPECT_EQ(Next(client), std::nullopt);
  now_ += seconds(100);
  Write();
  EXPECT_EQ(store_->Contents().newest->steps, 1U);
  rounds_.reset();  // before its store
}

}  // namespace
}  // namespace polykern
