#include "polykern/net/server/metrics_server.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

ServerView Working() {
  ServerView view;
  view.rounds.step = 41;
  view.rounds.used_late = 4;
  return view;
}

/// What the server answers to these bytes, whole.
std::string Ask(const std::string& address, const std::string& bytes) {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port =
      htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval patience = {.tv_sec = 10, .tv_usec = 0};
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
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
  ServerView view = Working();
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
  EXPECT_THAT(MessageOf([&] { MetricsServer(server.address(), Working); }),
              HasSubstr("metrics cannot listen on " + server.address() +
                        "; another program listens there; end it, or choose another port"));
}

/// The body of an answer, whose length must be what its head says.
std::string BodyOf(const std::string& answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  const std::size_t length = answer.find("\r\nContent-Length: ");
  if (end == std::string::npos || length > end) return "no HTTP: " + answer;
  const std::string body = answer.substr(end + 4);
  EXPECT_EQ(std::stoul(answer.substr(length + 18)), body.size());
  return body;
}

/// One server for several tests.
class ASharedMetricsServer : public testing::Test {
 protected:
  static std::string Address() {
    if (server == nullptr) {
      server = std::make_unique<MetricsServer>("localhost:0", [] {
        ++looks;
        return Working();
      });
    }
    return server->address();
  }
  /// It looks only every two seconds whether it shall stop, or whenever somebody comes.
  static void Stop() {
    const std::string address = server == nullptr ? "" : server->address();
    std::atomic<bool> stopped = false;
    const std::jthread stopping([&] {
      server.reset();
      stopped = true;
    });
    while (!stopped && !address.empty()) Ask(address, "");  // comes, and asks nothing
  }
  static void TearDownTestSuite() { Stop(); }

  inline static std::atomic<int> looks = 0;
  inline static std::unique_ptr<MetricsServer> server;
};

TEST_F(ASharedMetricsServer, SaysWhatItSendsAndThatItMustNotBeStored) {
  const std::vector<std::pair<std::string, std::string>> types = {
      {"/metrics", "text/plain; version=0.0.4; charset=utf-8"},
      {"/status", "application/json"},
      {"/healthz", "text/plain; charset=utf-8"}};
  for (const auto& [path, type] : types) {
    const std::string answer = Get(Address(), path);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: " + type + "\r\n"));
    EXPECT_THAT(answer, HasSubstr("\r\nCache-Control: no-store\r\nConnection: close\r\n"));
  }
  EXPECT_EQ(BodyOf(Get(Address(), "/metrics")), ToMetrics(Working()));
  EXPECT_EQ(BodyOf(Get(Address(), "/status")), ToJson(Working()));
  EXPECT_EQ(BodyOf(Get(Address(), "/healthz")), "ok\n");
}

TEST_F(ASharedMetricsServer, LooksOnceForEachRequestThatItKnowsAndForNoOther) {
  EXPECT_THAT(Address(), StartsWith("127.0.0.1:"));
  const int before = looks;
  for (const char* path : {"/", "/metric", "/metrics/", "/metricsx", "/x/metrics"}) {
    EXPECT_THAT(Get(Address(), path), StartsWith("HTTP/1.1 404")) << path;
  }
  EXPECT_EQ(looks, before);
  EXPECT_THAT(Get(Address(), "/status"), HasSubstr("\"step\":41,"));
  EXPECT_THAT(Get(Address(), "/status?a=b&c"), HasSubstr("\"step\":41,"));
  EXPECT_THAT(Get(Address(), "/metrics"), HasSubstr("\npolykern_steps_total 41\n"));
  EXPECT_EQ(looks, before + 3);
}

TEST_F(ASharedMetricsServer, OutlivesWhateverIsSentToIt) {
  const std::string long_path(20'000, 'a');
  for (const std::string& request :
       {std::string("\r\n\r\n"), std::string("GET\r\n\r\n"), std::string("GET /metrics\r\n\r\n"),
        std::string("GET /metrics HTTP/9.9\r\n\r\n"),
        std::string("\0\xff\x16\x03\x01", 5) + "\r\n\r\n",
        "GET /" + long_path + " HTTP/1.1\r\n\r\n", "GET /metrics HTTP/1.1\r\nX: " + long_path,
        std::string("GET /%2e%2e/%00 HTTP/1.1\r\nHost: x\r\n\r\n"),
        std::string("GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n"),
        std::string("PUT /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n")}) {
    EXPECT_THAT(Ask(Address(), request), Not(HasSubstr("root:")));
  }
  EXPECT_EQ(BodyOf(Get(Address(), "/healthz")), "ok\n");
}

TEST_F(ASharedMetricsServer, AnswersAnOldClientAndOneThatSendsMore) {
  EXPECT_EQ(BodyOf(Ask(Address(), "GET /healthz HTTP/1.0\r\n\r\n")), "ok\n");
  EXPECT_EQ(
      BodyOf(Ask(Address(), "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")),
      "ok\n");
  EXPECT_THAT(Ask(Address(), "POST /healthz HTTP/1.1\r\nHost: x\r\n\r\n"), HasSubstr(" 405 "));
}

TEST_F(ASharedMetricsServer, AnswersManyAtOnce) {
  const std::string address = Address();
  std::atomic<int> good = 0;
  std::vector<std::jthread> askers;
  for (int i = 0; i < 8; ++i) {
    askers.emplace_back([&] {
      for (int n = 0; n < 5; ++n) {
        if (Get(address, "/metrics").ends_with(ToMetrics(Working()))) ++good;
      }
    });
  }
  askers.clear();
  EXPECT_EQ(good, 40);
}

TEST_F(ASharedMetricsServer, FreesItsPortWhenItGoes) {
  const std::string address = Address();
  ASSERT_NE(Get(address, "/healthz"), "");
  Stop();  // whoever comes next starts another
  EXPECT_EQ(Get(address, "/healthz"), "");
}

TEST(AMetricsServer, NamesAnAddressThatItCannotListenOn) {
  for (const char* listen : {"nonsense", "127.0.0.1:", "127.0.0.1:99999"}) {
    EXPECT_EQ(MessageOf([&] { MetricsServer(listen, Working); }),
              std::string("metrics=") + listen + ": not of the form HOST:PORT, port 0 to 65535");
  }
  EXPECT_EQ(MessageOf([&] { MetricsServer("192.0.2.7:0", Working); }),
            "metrics cannot listen on 192.0.2.7:0; is it an address of this machine?");
}

}  // namespace
}  // namespace polykern
