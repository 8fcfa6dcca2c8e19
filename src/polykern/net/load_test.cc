#include "polykern/net/load.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "polykern/core/error.h"
#include "polykern/io/folder_testing.h"
#include "polykern/io/private_files.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/pki/certificates.h"
#include "polykern/net/server/rounds.h"
#include "polykern/net/server/server.h"
#include "polykern/net/store/open_store.h"

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

/// A server with an authority of its own, for as many clients as a test likes.
class ALoad : public testing::Test {
 protected:
  ALoad() {
    InitOptions init;
    init.hosts = {"127.0.0.1"};
    InitAuthority(folder_.At("pki"), init);
    server_options_.listen = "127.0.0.1:0";
    server_options_.certificates = folder_.At("pki");
    configuration_.options.kernels = 4;
    configuration_.options.features = 2;
    configuration_.problem = {3, 100, 1};
  }

  void Start() {
    algorithm_ = MakeAlgorithm(configuration_);
    store_ = OpenStore(folder_.At("store.db"), ToTexts(configuration_));
    rounds_.emplace(*algorithm_, *store_, rounds_options_);
    server_.emplace(server_options_, algorithm_->shape(), *rounds_);
  }

  LoadOptions For(std::size_t clients) const {
    const AuthorityPaths paths(folder_.At("pki"));
    const KeyPair authority{ReadWholeFile(paths.certificate), ReadWholeFile(paths.key)};
    const std::int64_t now = std::time(nullptr);
    LoadOptions load;
    load.server = server_->address();
    load.patience = milliseconds(20'000);
    for (std::size_t k = 0; k < clients; ++k) {
      const std::string key = MakeKey();
      load.identities.push_back(
          {authority.certificate,
           MakeClientCertificate(authority, key, "c" + std::to_string(k), {now - 60, now + 3600}),
           key});
    }
    return load;
  }

  TestFolder folder_;
  ServerOptions server_options_;
  RoundsOptions rounds_options_;
  FederationConfiguration configuration_;
  std::unique_ptr<Algorithm> algorithm_;
  std::unique_ptr<Store> store_;
  std::optional<Rounds> rounds_;
  std::optional<FederationServer> server_;
};

TEST_F(ALoad, CountsWhatTheServerCounts) {
  rounds_options_.quorum.count = 5;
  Start();
  {
    Load load(For(5));
    EXPECT_EQ(rounds_->status().connected, 5U);
    load.WaitForSteps(3);
    EXPECT_GE(rounds_->status().step, 3U);
    const LoadFigures figures = load.Measure(milliseconds(300));
    EXPECT_GE(figures.seconds, 0.3);
    EXPECT_GT(figures.steps, 0U);
    EXPECT_LE(figures.updates, rounds_->status().accepted);
    EXPECT_GE(figures.updates + 5, 5 * (figures.steps - 1));
    EXPECT_EQ(figures.latencies.size(), figures.updates);
    EXPECT_TRUE(std::ranges::is_sorted(figures.latencies));
    EXPECT_EQ(figures.rejected, 0U);
    // One kernel of 4 floats, and little else.
    EXPECT_GT(figures.sent_bytes, 16 * figures.updates);
    EXPECT_LT(figures.sent_bytes, 64 * figures.updates);
  }
  const RoundsStatus status = rounds_->status();
  EXPECT_EQ(status.rejected + status.late + status.duplicates, 0U);
}

TEST_F(ALoad, SaysWhenThereIsNoRoom) {
  rounds_options_.most_connected = 2;
  Start();
  EXPECT_THAT(MessageOf([&] { const Load load(For(3)); }), HasSubstr("as many clients"));
}

TEST_F(ALoad, SaysWhenNobodyAnswers) {
  Start();
  LoadOptions load = For(1);
  server_.reset();
  EXPECT_THAT(MessageOf([&] { const Load nobody(load); }), HasSubstr("a client of the load"));
}

/// A connection to HOST:PORT; it is closed in the end.
class Connection {
 public:
  explicit Connection(const std::string& address) {
    const std::size_t colon = address.rfind(':');
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
    inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
    EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  ~Connection() { close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

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
  server_options_.insecure = true;
  server_options_.hello_time = milliseconds(100);
  Start();
  const Connection idle(server_->address());
  idle.Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  idle.Send({"\0\0\0\4\0\0\0\0\0", 9});  // settings, none of them
  EXPECT_TRUE(idle.EndsWithin(milliseconds(5'000)));
}

}  // namespace
}  // namespace polykern
