#include "polykern/net/server/server_view.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "polykern/core/random.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::Not;

ServerView SomeView() {
  ServerView view;
  view.algorithm = "pof-mkl";
  view.rounds.step = 41;
  view.rounds.connected = 3;
  view.rounds.accepted = 120;
  view.rounds.used_late = 4;
  view.rounds.rejected_for = {{"kernels", 2}, {"numbers", 5}};
  view.traffic = {1000, 2000};
  view.step_times.counts[0] = 7;
  view.step_times.counts[2] = 1;
  view.step_times.counts.back() = 1;
  view.step_times.steps = 9;
  view.step_times.seconds = 12.5;
  return view;
}

TEST(AServersView, TellsOfEveryFrontEnd) {
  ServerView view = SomeView();
  EXPECT_THAT(ToMetrics(view), Not(HasSubstr("polykern_front")));
  EXPECT_TRUE(nlohmann::json::parse(ToJson(view)).at("fronts").is_null());
  view.rounds.fronts.emplace();
  view.rounds.fronts->fronts = {
      {.report = {.address = "a:1", .step = 41, .connected = 3, .accepted = 7}, .here = true},
      {.report = {.address = "b:2", .step = 40, .connected = 5, .accepted = 8}, .leads = true}};
  const std::string text = ToMetrics(view);
  for (const char* line :
       {"\npolykern_fronts 2\n", "\npolykern_front_clients_connected{front=\"a:1\"} 3\n",
        "\npolykern_front_clients_connected{front=\"b:2\"} 5\n",
        "\npolykern_front_step{front=\"b:2\"} 40\n", "\npolykern_front_leads{front=\"a:1\"} 0\n",
        "\npolykern_front_leads{front=\"b:2\"} 1\n",
        "\npolykern_front_updates_accepted_total{front=\"b:2\"} 8\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  const auto fronts = nlohmann::json::parse(ToJson(view)).at("fronts");
  EXPECT_EQ(fronts.at(0), (nlohmann::json{{"address", "a:1"},
                                          {"here", true},
                                          {"leads", false},
                                          {"step", 41},
                                          {"connected", 3},
                                          {"accepted", 7}}));
  EXPECT_EQ(fronts.at(1).at("leads"), true);
}

TEST(AServersView, IsInPrometheusFormat) {
  const std::string text = ToMetrics(SomeView());
  for (const char* line :
       {"# TYPE polykern_steps_total counter\npolykern_steps_total 41\n",
        "\npolykern_clients_connected 3\n", "\npolykern_updates_accepted_total 120\n",
        "\npolykern_updates_used_late_total 4\n",
        "\npolykern_updates_rejected_total{reason=\"kernels\"} 2\n",
        "\npolykern_updates_rejected_total{reason=\"numbers\"} 5\n",
        "# TYPE polykern_step_seconds histogram\n", "\npolykern_step_seconds_count 9\n",
        "\npolykern_step_seconds_sum 12.5\n", "\npolykern_step_seconds_bucket{le=\"0.0005\"} 7\n",
        "\npolykern_step_seconds_bucket{le=\"0.001\"} 7\n",
        "\npolykern_step_seconds_bucket{le=\"0.002\"} 8\n",
        "\npolykern_step_seconds_bucket{le=\"10\"} 8\n",
        "\npolykern_step_seconds_bucket{le=\"+Inf\"} 9\n", "\npolykern_received_bytes_total 1000\n",
        "\npolykern_sent_bytes_total 2000\n", "polykern_healthy 1\n",
        "\npolykern_reporting_clients 0\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("reported_mse")));  // nobody has said it
  ServerView view = SomeView();
  view.rounds.reporting = 2;
  view.rounds.reported_squared_error = 0.25;
  view.trouble = "the disk is full";
  EXPECT_THAT(ToMetrics(view), HasSubstr("\npolykern_reported_mse 0.25\n"));
  EXPECT_THAT(ToMetrics(view), Not(HasSubstr("reported_skill")));
  view.rounds.reported_skill = 0.5;
  EXPECT_THAT(ToMetrics(view), HasSubstr("\npolykern_reported_skill 0.5\n"));
  EXPECT_THAT(ToMetrics(view), HasSubstr("polykern_healthy 0\n"));
}

/// Every sample of a text in Prometheus' format, by name and labels.
std::map<std::string, double> Samples(const std::string& text) {
  std::map<std::string, double> samples;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t blank = line.rfind(' ');
    const std::string name = line.substr(0, blank);
    EXPECT_FALSE(samples.contains(name)) << line;
    samples[name] = std::strtod(line.c_str() + blank, nullptr);
  }
  return samples;
}

TEST(AServersView, ExplainsEveryMetricOnceBeforeItsSamples) {
  ServerView view = SomeView();
  view.rounds.reporting = 1;
  view.opener.noise = OpenerStatus::Noise{};
  view.opener.helper = OpenerStatus::Helper{.answered_seconds = 1};
  view.certificate_expires = 1;
  view.rounds.first_expiry = 2;
  std::istringstream lines(ToMetrics(view));
  std::set<std::string> helped;
  std::string family;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(helped.insert(family).second) << line;
      EXPECT_TRUE(family.starts_with("polykern_")) << line;
      EXPECT_TRUE(line.ends_with('.')) << line;
    } else if (!line.starts_with("# TYPE " + family + " ")) {
      EXPECT_TRUE(line.starts_with(family)) << line;
    } else {
      EXPECT_EQ(line.ends_with("counter"), family.ends_with("_total")) << line;
    }
  }
  EXPECT_EQ(helped.size(), 34U);
}

TEST(AServersView, SaysTheUnitOfEveryMetricThatHasOne) {
  ServerView view = SomeView();
  view.opener.helper = OpenerStatus::Helper{.answered_seconds = 1};
  std::istringstream lines(ToMetrics(view));
  std::size_t seen = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string mark;
    std::string help;
    std::string family;
    std::string first;
    words >> mark >> help >> family >> first;
    if (help != "HELP") continue;
    const bool in_seconds = family.ends_with("_seconds");
    const bool bytes = family.ends_with("_bytes_total");
    EXPECT_TRUE(!in_seconds || first == "Seconds") << line;
    EXPECT_TRUE(!bytes || first == "Bytes") << line;
    seen += static_cast<std::size_t>(first == "Seconds" || first == "Bytes");
  }
  EXPECT_EQ(seen, 5U);
}

TEST(AServersView, GivesEveryNumberItsOwnMetric) {
  ServerView view;
  RoundsStatus& r = view.rounds;
  std::uint64_t next = 100;
  view.uptime_seconds = static_cast<double>(++next) + 0.5;
  r.step = ++next;
  r.enrolled = ++next;
  r.connected = ++next;
  r.answered = ++next;
  r.needed = ++next;
  r.accepted = ++next;
  r.used_late = ++next;
  r.late = ++next;
  r.duplicates = ++next;
  r.refused = ++next;
  view.traffic.bytes_in = ++next;
  view.traffic.bytes_out = ++next;
  view.log_events_lost = ++next;
  r.reporting = ++next;
  r.reported_squared_error = static_cast<double>(++next);
  r.reported_regret = -static_cast<double>(++next);
  r.clipped = ++next;
  view.traffic.unopened = ++next;
  view.traffic.made_way = ++next;
  view.traffic.crowded = ++next;
  r.gone = ++next;
  view.certificate_expires = static_cast<std::int64_t>(++next);
  r.first_expiry = static_cast<std::int64_t>(++next);
  auto samples = Samples(ToMetrics(view));
  const std::vector<std::pair<const char*, double>> expected = {{"uptime_seconds", 101.5},
                                                                {"steps_total", 102},
                                                                {"clients_enrolled", 103},
                                                                {"clients_connected", 104},
                                                                {"step_answers", 105},
                                                                {"step_answers_needed", 106},
                                                                {"updates_accepted_total", 107},
                                                                {"updates_used_late_total", 108},
                                                                {"updates_late_total", 109},
                                                                {"updates_duplicate_total", 110},
                                                                {"connections_refused_total", 111},
                                                                {"received_bytes_total", 112},
                                                                {"sent_bytes_total", 113},
                                                                {"log_events_lost_total", 114},
                                                                {"reporting_clients", 115},
                                                                {"reported_mse", 116},
                                                                {"reported_regret", -117},
                                                                {"labels_clipped_total", 118},
                                                                {"connections_unopened_total", 119},
                                                                {"connections_made_way_total", 120},
                                                                {"connections_crowded_total", 121},
                                                                {"clients_gone", 122}};
  for (const auto& [name, value] : expected) {
    EXPECT_EQ(samples[std::string("polykern_") + name], value) << name;
  }
  const auto json = nlohmann::json::parse(ToJson(view));
  EXPECT_EQ(json["uptime_seconds"], 101.5);
  EXPECT_EQ(json["step"], 102);
  EXPECT_EQ(json["clients"],
            (nlohmann::json{{"enrolled", 103}, {"connected", 104}, {"gone", 122}}));
  const std::string expiry = "polykern_certificate_expiry_timestamp_seconds";
  EXPECT_EQ(samples[expiry + "{whose=\"server\"}"], 123);
  EXPECT_EQ(samples[expiry + "{whose=\"client\"}"], 124);
  EXPECT_EQ(json["certificates"],
            (nlohmann::json{{"server_ends", 123}, {"first_client_ends", 124}}));
  EXPECT_EQ(json["answered"], 105);
  EXPECT_EQ(json["needed"], 106);
  EXPECT_EQ(json["updates"]["accepted"], 107);
  EXPECT_EQ(json["updates"]["used_late"], 108);
  EXPECT_EQ(json["updates"]["late"], 109);
  EXPECT_EQ(json["updates"]["duplicate"], 110);
  EXPECT_EQ(json["refused"], 111);
  EXPECT_EQ(json["clipped"], 118);
  EXPECT_EQ(json["bytes"], (nlohmann::json{{"in", 112}, {"out", 113}}));
  EXPECT_EQ(json["log_events_lost"], 114);
  EXPECT_EQ(
      json["reports"],
      (nlohmann::json{{"clients", 115}, {"mse", 116.0}, {"regret", -117.0}, {"skill", nullptr}}));
}

TEST(AServersView, SaysWhatNoiseHasCostAndWhetherTheHelperIsThere) {
  ServerView view = SomeView();
  auto json = nlohmann::json::parse(ToJson(view));
  EXPECT_TRUE(json["noise"].is_null());
  EXPECT_TRUE(json["helper"].is_null());
  EXPECT_THAT(ToMetrics(view), Not(HasSubstr("epsilon")));
  view.rounds.releases = 12;
  view.rounds.discarded = 2;
  view.opener.noise = OpenerStatus::Noise{2, 1e-6, 0.5, 10, 54};
  view.opener.helper = OpenerStatus::Helper{true, 3.5};
  const auto samples = Samples(ToMetrics(view));
  EXPECT_EQ(samples.at("polykern_releases_total"), 12);
  EXPECT_EQ(samples.at("polykern_releases_discarded_total"), 2);
  EXPECT_EQ(samples.at("polykern_epsilon"), 2);
  EXPECT_EQ(samples.at("polykern_epsilon_spent"), 0.5);
  EXPECT_EQ(samples.at("polykern_noisy_releases"), 10);
  EXPECT_EQ(samples.at("polykern_noisy_releases_left"), 54);
  EXPECT_EQ(samples.at("polykern_helper_connected"), 1);
  EXPECT_EQ(samples.at("polykern_helper_answered_seconds"), 3.5);
  json = nlohmann::json::parse(ToJson(view));
  EXPECT_EQ(json["releases"], (nlohmann::json{{"total", 12}, {"discarded", 2}}));
  EXPECT_EQ(json["noise"]["epsilon_left"], 1.5);
  EXPECT_EQ(json["noise"]["releases_left"], 54);
  EXPECT_EQ(json["helper"]["answered_seconds"], 3.5);
}

TEST(AServersView, CountsStepsUpToEachBound) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed, Purpose::kTest);
    ServerView view;
    for (std::uint64_t& count : view.step_times.counts) count = random.Below(5);
    const auto& counts = view.step_times.counts;
    view.step_times.steps = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    auto samples = Samples(ToMetrics(view));
    double below = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      below += static_cast<double>(counts[i]);
      std::ostringstream bound;
      bound << "polykern_step_seconds_bucket{le=\"";
      i < StepTimes::kBounds.size() ? bound << StepTimes::kBounds[i] : bound << "+Inf";
      bound << "\"}";
      ASSERT_TRUE(samples.contains(bound.str())) << bound.str();
      EXPECT_EQ(samples[bound.str()], below) << bound.str();
    }
    EXPECT_EQ(samples["polykern_step_seconds_count"], below);
  }
}

TEST(AServersView, IsOneLineOfJsonWhateverTheTrouble) {
  ServerView view = SomeView();
  view.trouble = "a \"b\"\nc\\d \xff\x01";
  view.rounds.rejected_for = {{"a\"\n\xc3", 3}};
  const std::string text = ToJson(view);
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["healthy"], false);
  EXPECT_THAT(json["trouble"].get<std::string>(), HasSubstr("a \"b\"\nc\\d "));
  EXPECT_EQ(json["updates"]["rejected"].size(), 1U);
  EXPECT_EQ(Samples(ToMetrics(view)).size(), Samples(ToMetrics(SomeView())).size() - 1);
  EXPECT_THAT(ToMetrics(view), HasSubstr("_rejected_total{reason=\"a\\\"\\n"));
}

TEST(AServersView, HasMeansOnlyWhereThereIsSomething) {
  ServerView view;
  auto json = nlohmann::json::parse(ToJson(view));
  EXPECT_TRUE(json["mean_step_seconds"].is_null());
  EXPECT_TRUE(json["reports"].is_null());
  EXPECT_EQ(json["updates"]["rejected"], nlohmann::json::object());
  EXPECT_EQ(json["healthy"], true);
  EXPECT_EQ(json["finished"], false);
  view.step_times.steps = 4;
  view.step_times.seconds = 10;
  view.rounds.finished = true;
  json = nlohmann::json::parse(ToJson(view));
  EXPECT_EQ(json["mean_step_seconds"], 2.5);
  EXPECT_EQ(json["finished"], true);
}

TEST(AServersView, NamesNoClient) {
  ServerView view = SomeView();
  view.rounds.missing = {"station-7"};
  EXPECT_THAT(ToMetrics(view) + ToJson(view), Not(HasSubstr("station-7")));
}

}  // namespace
}  // namespace polykern
