// Hearing what is said to front ends, with a real database.
#include "polykern/net/front/front_listener.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "polykern/net/front/front_tables_internal.h"
#include "polykern/net/front/front_testing.h"

namespace polykern {
namespace {

class AFrontListener : public InADatabase {
 protected:
  static bool Until(const std::function<bool()>& so) {
    for (int i = 0; i < 1000; ++i) {
      if (so()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  /// It listens, and has told all that there was to tell.
  void Settle(FrontListener& listener) {
    Join(9);  // makes the tables
    ASSERT_TRUE(Until([&] { return Number(kListening) > 0; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    listener.Heard();
  }
  void Say(const std::string& words) {
    Connection connection(place_);
    Notify(connection, ChannelOf(connection, Ears::kFronts), words);
  }

  static constexpr const char* kListening =
      "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN polykern_fronts_' || "
      "(hashtext(current_schema())::bigint & 4294967295)";
};

TEST_F(AFrontListener, HasNewsForAllAndForItself) {
  FrontListener listener(place_, 7);
  Settle(listener);
  Say("8");  // to another one
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(listener.HasNews());
  for (const char* words : {"7", ""}) {
    Say(words);
    EXPECT_TRUE(Until([&] { return listener.HasNews(); })) << words;
    listener.Heard();
  }
}

TEST_F(AFrontListener, ListensAgainWhenItWasCutOff) {
  FrontListener listener(place_, 7);
  Settle(listener);
  std::atomic<int> woken = 0;
  listener.OnNews([&woken] { ++woken; });
  Run((std::string("SELECT pg_terminate_backend(pid) FROM (") +
       "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN polykern_fronts_' || "
       "(hashtext(current_schema())::bigint & 4294967295)) t")
          .c_str());
  EXPECT_TRUE(Until([&] { return woken > 0; }));  // perhaps something was missed
  listener.OnNews(nullptr);
  const int before = woken;
  ASSERT_TRUE(Until([&] { return Number(kListening) > 0; }));
  listener.Heard();
  Say("");
  EXPECT_TRUE(Until([&] { return listener.HasNews(); }));
  EXPECT_EQ(woken, before) << "nobody is woken any more";
}

}  // namespace
}  // namespace polykern
