#include "polykern/net/server/metrics_server.h"

#include <string>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

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
  EXPECT_THAT(ToMetrics(view), HasSubstr("polykern_healthy 0\n"));
}

/// What the server answers to these bytes, whole.
std::string Ask(const std::string& address, const std::string& bytes) {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port =
      htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (connect(descriptor, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 &&
      send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) {
    char part[4096];
    for (ssize_t n = 0; (n = recv(descriptor, part, sizeof part, 0)) > 0;) {
      answer.append(part, static_cast<std::size_t>(n));
    }
  }
  close(descriptor);
  return answer;
}

std::string Get(const std::string& address, const std::string& path) {
  return Ask(address, "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
}

TEST(AMetricsServer, AnswersOnTheLoopback) {
  ServerView view = SomeView();
  const MetricsServer server("0", [&] { return view; });
  EXPECT_THAT(server.address(), StartsWith("127.0.0.1:"));
  EXPECT_THAT(Get(server.address(), "/metrics"), HasSubstr("\npolykern_steps_total 41\n"));
  EXPECT_THAT(Get(server.address(), "/status"),
              AllOf(HasSubstr("\"step\":41"), HasSubstr("\"used_late\":4")));
  EXPECT_THAT(Get(server.address(), "/healthz"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(Get(server.address(), "/other"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Get(server.address(), "/../etc/passwd"), Not(HasSubstr("root")));
  Ask(server.address(), std::string(100'000, 'x'));
  view.trouble = "the disk is full";
  EXPECT_THAT(Get(server.address(), "/healthz"), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(Get(server.address(), "/healthz"), HasSubstr("the disk is full"));
  EXPECT_THAT(MessageOf([&] { MetricsServer(server.address(), [] { return SomeView(); }); }),
              HasSubstr("metrics cannot listen"));
}

}  // namespace
}  // namespace polykern
