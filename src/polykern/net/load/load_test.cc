#include "polykern/net/load/load.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "polykern/core/error.h"
#include "polykern/core/random.h"
#include "polykern/federation/client.h"
#include "polykern/federation/coordinator.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/agent/agent.h"
#include "polykern/net/agent/federation_testing.h"
#include "polykern/net/pki/client_identity.h"

namespace polykern {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(Percentiles, AreTheSmallestNumberWithThatShareAtOrBelowIt) {
  const std::vector<double> ten = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_EQ(Percentile(ten, 0.5), 5);
  EXPECT_EQ(Percentile(ten, 0.51), 6);
  EXPECT_EQ(Percentile(ten, 0.99), 10);
  EXPECT_EQ(Percentile(ten, 0), 1);
  EXPECT_EQ(Percentile(ten, 1), 10);
  EXPECT_EQ(Percentile({}, 0.5), 0);
}

/// Many clients of a real server.
class ALoad : public testing::Test {
 protected:
  LoadOptions For(std::size_t clients) const {
    LoadOptions load;
    load.server = federation.address();
    load.patience = milliseconds(20'000);
    load.identities = MakeClientIdentities(federation.pki(), "c", clients, std::time(nullptr));
    return load;
  }

  TestFederation federation;
};

TEST_F(ALoad, CountsWhatTheServerCounts) {
  federation.rounds_options.quorum.count = 5;
  federation.Start();
  {
    Load load(For(5));
    EXPECT_EQ(federation.status().connected, 5U);
    load.WaitForSteps(3);
    EXPECT_GE(federation.status().step, 3U);
    const LoadFigures figures = load.Measure(milliseconds(300));
    EXPECT_GE(figures.seconds, 0.3);
    EXPECT_GT(figures.steps, 0U);
    EXPECT_LE(figures.updates, federation.status().accepted);
    EXPECT_GE(figures.updates + 5, 5 * (figures.steps - 1));
    EXPECT_EQ(figures.latencies.size(), figures.updates);
    EXPECT_TRUE(std::ranges::is_sorted(figures.latencies));
    EXPECT_EQ(figures.rejected, 0U);
    // One kernel of 4 floats, and little else.
    EXPECT_GT(figures.sent_bytes, 16 * figures.updates);
    EXPECT_LT(figures.sent_bytes, 64 * figures.updates);
    const LoadFigures ten = load.MeasureSteps(10);
    EXPECT_GE(ten.steps, 10U);
    EXPECT_GE(ten.updates, 45U);  // the first one may have been sent before
  }
  const RoundsStatus status = federation.status();
  EXPECT_EQ(status.rejected + status.late + status.duplicates, 0U);
}

/// What a client of a load learns from in a step: a function of seed, client and step alone.
std::pair<std::array<float, 3>, double> SampleOf(std::uint64_t seed, std::uint64_t client,
                                                 std::uint64_t step) {
  Random random(seed, Purpose::kSample, client, step);
  std::array<float, 3> x{};
  double sum = 0;
  for (float& value : x) {
    const double uniform = 2 * random.Uniform() - 1;
    value = static_cast<float>(uniform);
    sum += uniform;
  }
  return {x, 0.5 + 0.5 * std::sin(sum)};
}

TEST_F(ALoad, LearnsAsTheFederationWouldFromItsSamplesByHand) {
  constexpr std::uint64_t kSteps = 12;
  constexpr std::uint64_t kSeed = 77;
  federation.rounds_options.quorum.count = 2;
  federation.rounds_options.steps = kSteps;
  federation.Start();
  {
    LoadOptions options = For(2);
    options.seed = kSeed;
    options.connecting = 1;  // so that the first is client 0
    Load load(options);
    load.WaitForSteps(kSteps - std::min(kSteps, federation.status().step));
  }
  EXPECT_TRUE(federation.status().finished);

  const std::unique_ptr<Algorithm> algorithm = MakeAlgorithm(federation.configuration);
  Clients clients(*algorithm, 0, 3);
  ClientRound round(*algorithm);
  Coordinator coordinator(*algorithm, 2);
  constexpr std::array<std::uint8_t, 1> kPresent{1};
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    for (std::size_t client = 0; client < 2; ++client) {
      const auto [x, y] = SampleOf(kSeed, client, step);
      round.Predict(coordinator.broadcast(), clients, client, x, kPresent);
      coordinator.Receive(round.Learn(std::array{y}));
    }
    coordinator.Commit();
  }
  // A third client that has learnt nothing itself sees what the two have taught the server.
  const std::array<float, 3> x = {0.5F, -0.25F, 0.125F};
  round.Predict(coordinator.broadcast(), clients, 2, x, kPresent);
  AgentOptions third;
  third.link.server = federation.address();
  third.link.certificates = federation.folder.At("third");
  IssueClient(federation.pki(), "third", {.out = third.link.certificates});
  Agent agent(third);
  ASSERT_TRUE(agent.WaitForStep(milliseconds(60'000)));
  EXPECT_EQ(agent.Predict(x).value, algorithm->loss().Predicted(round.predictions()[0]));
}

TEST_F(ALoad, MeasuresEveryTimeAnew) {
  federation.rounds_options.quorum.count = 2;
  federation.Start();
  Load load(For(2));
  const LoadFigures first = load.Measure(milliseconds(200));
  load.WaitForSteps(2);
  const LoadFigures second = load.Measure(milliseconds(0));
  EXPECT_GT(first.updates, 0U);
  EXPECT_LT(second.updates, first.updates);
  EXPECT_LE(second.latencies.size(), 2 * (second.steps + 1));
}

TEST_F(ALoad, SaysWhenThereIsNoRoom) {
  federation.rounds_options.most_connected = 2;
  federation.Start();
  EXPECT_THAT(MessageOf([&] { const Load load(For(3)); }), HasSubstr("the server is full"));
}

TEST_F(ALoad, EndsWhenTheServerDoes) {
  federation.Start();
  Load load(For(2));
  federation.Stop();
  EXPECT_THROW(load.Measure(milliseconds(20'000)), Error);
  EXPECT_THROW(load.WaitForSteps(1), Error);
}

TEST_F(ALoad, LosesPatience) {
  federation.rounds_options.quorum.count = 3;  // so no step ends
  federation.Start();
  LoadOptions options = For(2);
  options.patience = milliseconds(1'000);
  Load load(options);
  EXPECT_EQ(MessageOf([&] { load.WaitForSteps(1); }),
            "the server sent nothing for 1 s; 2 of 2 clients are welcomed");
}

TEST_F(ALoad, OfClientsThatAreRefusedSaysWhy) {
  federation.rounds_options.roster = {"somebody-else"};
  federation.Start();
  EXPECT_THAT(MessageOf([&] { const Load load(For(1)); }), HasSubstr("a client of the load: "));
}

TEST_F(ALoad, SaysWhenNoServerAnswers) {
  federation.Start();
  LoadOptions load = For(1);
  federation.Stop();
  EXPECT_THAT(MessageOf([&] { const Load nobody(load); }), HasSubstr("a client of the load"));
}

/// A connection to HOST:PORT; it is closed in the end.
class PlainConnection {
 public:
  explicit PlainConnection(const std::string& address) {
    const std::size_t colon = address.rfind(':');
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
    inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
    EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  ~PlainConnection() { close(socket_); }
  PlainConnection(const PlainConnection&) = delete;
  PlainConnection& operator=(const PlainConnection&) = delete;

  void Send(std::string_view bytes) const {
    EXPECT_EQ(send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  /// Does the other side end it before it has been silent for so long?
  bool EndsWithin(milliseconds silence) const {
    std::array<char, 1000> bytes{};
    pollfd what{socket_, POLLIN, 0};
    while (poll(&what, 1, static_cast<int>(silence.count())) > 0) {
      if (recv(socket_, bytes.data(), bytes.size(), 0) <= 0) return true;
    }
    return false;
  }

 private:
  const int socket_ = socket(AF_INET, SOCK_STREAM, 0);
};

TEST_F(ALoad, OfConnectionsThatWantNothingGoesAway) {
  federation.server_options.insecure = true;
  federation.server_options.hello_time = milliseconds(100);
  federation.Start();
  const PlainConnection idle(federation.address());
  idle.Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  idle.Send({"\0\0\0\4\0\0\0\0\0", 9});  // settings, none of them
  EXPECT_TRUE(idle.EndsWithin(milliseconds(5'000)));
}

}  // namespace
}  // namespace polykern
