#include "polykern/net/server/web_history.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace polykern {
namespace {

using HistoryJson = nlohmann::json;

ServerView ViewAt(std::size_t second) {
  ServerView view;
  view.uptime_seconds = static_cast<double>(second);
  view.rounds.step = 10 * second;
  view.rounds.connected = second % 7;
  return view;
}

TEST(AWebHistory, SpansTheWholeTimeWithFewPoints) {
  WebHistory history;
  constexpr std::size_t kSeconds = 100'000;
  for (std::size_t second = 0; second < kSeconds; ++second) history.Add(ViewAt(second));
  const auto lists = HistoryJson::parse(history.ToJson());
  const auto minutes = lists.at("minutes").get<std::vector<double>>();
  ASSERT_LE(minutes.size(), WebHistory::kMost);
  ASSERT_GE(minutes.size(), WebHistory::kMost / 2);
  EXPECT_EQ(minutes.front(), 0);
  const double apart = minutes[1];
  EXPECT_GT(minutes.back() + apart, kSeconds / 60.0 - apart);
  for (std::size_t i = 0; i < minutes.size(); ++i) {
    EXPECT_NEAR(minutes[i], apart * static_cast<double>(i), 1e-9);
    EXPECT_NEAR(lists.at("step")[i].get<double>(), 600 * minutes[i], 1e-6);
    EXPECT_EQ(lists.at("connected").size(), minutes.size());
  }
}

TEST(AWebHistory, HasWhatClientsReportAndNoiseSpendsWhereTheyDo) {
  WebHistory history;
  history.Add(ViewAt(0));
  ServerView view = ViewAt(60);
  view.rounds.reporting = 2;
  view.rounds.reported_squared_error = 0.25;
  view.rounds.reported_skill = 0.5;
  view.opener.noise.emplace();
  view.opener.noise->spent = 1.5;
  history.Add(view);
  const auto lists = HistoryJson::parse(history.ToJson());
  EXPECT_EQ(lists.at("mse"), HistoryJson::parse("[null, 0.25]"));
  EXPECT_EQ(lists.at("skill"), HistoryJson::parse("[null, 0.5]"));
  EXPECT_EQ(lists.at("epsilon"), HistoryJson::parse("[null, 1.5]"));
}

}  // namespace
}  // namespace polykern
