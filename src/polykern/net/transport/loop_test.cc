#include "polykern/net/transport/loop.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace polykern {
namespace {

using std::chrono::milliseconds;

/// Counts, on the loop's thread, what it is called for.
class CountedMember final : public Loop::Member {
 public:
  void Tick(Loop::Clock::time_point now) override {
    EXPECT_GE(now, last_);
    last_ = now;
    if (++ticks == 3) third.set_value();
    if (on_tick) on_tick();
  }
  void Drop() override { ++drops; }

  std::atomic<int> ticks = 0;
  std::atomic<int> drops = 0;
  std::promise<void> third;
  std::function<void()> on_tick;

 private:
  Loop::Clock::time_point last_{};
};

/// True unless it takes for ever.
bool Comes(std::promise<void>& promise) {
  return promise.get_future().wait_for(std::chrono::minutes(1)) == std::future_status::ready;
}

TEST(ALoop, DoesWhatIsPostedInOrderOnOneThread) {
  Loop loop;
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  std::promise<void> done;
  for (int k = 0; k < 100; ++k) {
    loop.Post([&, k] {
      order.push_back(k);
      threads.push_back(std::this_thread::get_id());
      if (k == 99) done.set_value();
    });
  }
  ASSERT_TRUE(Comes(done));
  for (int k = 0; k < 100; ++k) {
    EXPECT_EQ(order[static_cast<std::size_t>(k)], k);
    EXPECT_EQ(threads[static_cast<std::size_t>(k)], threads[0]);
  }
  EXPECT_NE(threads[0], std::this_thread::get_id());
}

TEST(ALoop, RunsAtOnceWhatItsOwnThreadWants) {
  Loop loop;
  std::string order;
  std::promise<void> done;
  loop.Post([&] {
    loop.Post([&] {
      order += 'c';
      done.set_value();
    });
    loop.Run([&] { order += 'a'; });
    order += 'b';
  });
  ASSERT_TRUE(Comes(done));
  EXPECT_EQ(order, "abc");
}

TEST(ALoop, TicksItsMembersUntilTheyAreRemoved) {
  Loop loop(milliseconds(2));
  const auto stays = std::make_shared<CountedMember>();
  const auto goes = std::make_shared<CountedMember>();
  goes->on_tick = [&] { loop.Remove(*goes); };
  loop.Post([&] {
    loop.Add(stays);
    loop.Add(goes);
  });
  ASSERT_TRUE(Comes(stays->third));
  loop.Stop();
  EXPECT_EQ(goes->ticks, 1) << "it removed itself";
  EXPECT_EQ(goes->drops, 0);
  EXPECT_EQ(stays->drops, 1);
}

TEST(ALoop, TakesMembersThatATickBrings) {
  Loop loop(milliseconds(2));
  const auto first = std::make_shared<CountedMember>();
  const auto second = std::make_shared<CountedMember>();
  first->on_tick = [&] { loop.Add(second); };
  loop.Post([&] { loop.Add(first); });
  ASSERT_TRUE(Comes(second->third));
  loop.Stop();
  EXPECT_EQ(second->drops, 1) << "once, however often it was added";
}

TEST(ALoop, DropsItsMembersOnceAndDoesNothingAfterwards) {
  const auto member = std::make_shared<CountedMember>();
  bool late = false;
  {
    Loop loop(milliseconds(1));
    loop.Post([&] { loop.Add(member); });
    loop.Stop();
    EXPECT_EQ(member->drops, 1);
    EXPECT_EQ(member.use_count(), 1) << "it lets go of them";
    const int ticks = member->ticks;
    loop.Post([&] { late = true; });
    loop.Stop();  // again: nothing happens
    std::this_thread::yield();
    EXPECT_EQ(member->ticks, ticks);
  }
  EXPECT_FALSE(late);
  EXPECT_EQ(member->drops, 1);
}

TEST(ALoop, MayDropAMemberThatRemovesItself) {
  class Leaver final : public Loop::Member {
   public:
    explicit Leaver(Loop& loop) : loop_(loop) {}
    void Tick(Loop::Clock::time_point) override {}
    void Drop() override { loop_.Remove(*this); }

   private:
    Loop& loop_;
  };
  std::weak_ptr<Leaver> seen;
  Loop loop;
  loop.Post([&] {
    for (int k = 0; k < 10; ++k) {
      const auto leaver = std::make_shared<Leaver>(loop);
      seen = leaver;
      loop.Add(leaver);
    }
  });
  loop.Stop();
  EXPECT_TRUE(seen.expired());
}

TEST(ALoop, OutlivesWritesToAPeerThatIsGone) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  close(ends[1]);
  Loop loop;
  std::promise<long> written;
  loop.Post([&] { written.set_value(write(ends[0], "x", 1)); });  // SIGPIPE would end the process
  EXPECT_EQ(written.get_future().get(), -1);
  close(ends[0]);
}

}  // namespace
}  // namespace polykern
