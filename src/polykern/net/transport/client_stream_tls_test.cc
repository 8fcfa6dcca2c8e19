// A client's connection over TLS, to a server that shows a certificate.
#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/net/pki/certificates.h"
#include "polykern/net/transport/client_stream_testing.h"
#include "polykern/net/transport/web_socket.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A server's end with TLS that counts what it receives.
class TlsEnd final : public WebSocket::Handler {
 public:
  void Opened(const std::string&) override {}
  void Received(std::string message) override { connection->Send(Shared("got " + message)); }
  void Sent() override {}
  void Broke(const std::string& why) override { connection->End({Ending::Kind::kBroken, why}); }
  void Closed(const Ending&) override { connection.reset(); }

  std::shared_ptr<WebSocket> connection;

 private:
  static std::shared_ptr<const std::string> Shared(std::string text) {
    return std::make_shared<const std::string>(std::move(text));
  }
};

class AClientStreamWithTls : public testing::Test {
 protected:
  AClientStreamWithTls() {
    options_.server = "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
    const std::vector<std::string> hosts = {"127.0.0.1"};
    const std::string key = MakeKey();
    certificate_ = MakeServerCertificate(authority_, key, hosts, valid_);
    server_tls_ = MakeServerTls({certificate_, key}, authority_.certificate);
    const std::string own = MakeKey();
    options_.tls =
        MakeClientTls({.authority = authority_.certificate,
                       .certificate = MakeClientCertificate(authority_, own, "a", valid_),
                       .key = own});
  }

  ~AClientStreamWithTls() override { loop_.Stop(); }

  void Begin(const std::string& hello = "hello") {
    stream_ = std::make_unique<ClientStream>(loop_, options_, notebook_);
    stream_->Begin(hello);
  }
  void Serve() {
    boost::asio::ip::tcp::socket socket(loop_.io());
    acceptor_.accept(socket);
    loop_.Post([this, socket = std::move(socket)]() mutable {
      const WebSocketOptions options{.longest_message = 1000};
      end_->connection =
          std::make_shared<WebSocket>(loop_, std::move(socket), server_tls_, options, end_);
      end_->connection->Start();
    });
  }

  Notebook notebook_;
  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_{io_, {boost::asio::ip::address_v4::loopback(), 0}};
  ClientStreamOptions options_;
  Loop loop_{std::chrono::milliseconds(10)};
  std::unique_ptr<ClientStream> stream_;
  const Validity valid_{std::time(nullptr) - 100, std::time(nullptr) + 1000};
  const KeyPair authority_ = MakeAuthority(valid_);
  std::string certificate_;
  TlsContext server_tls_;
  std::shared_ptr<TlsEnd> end_ = std::make_shared<TlsEnd>();
};

TEST_F(AClientStreamWithTls, ShowsItsServersCertificateToItsJudge) {
  std::string seen;
  options_.judge = [&](const std::string& certificate) {
    seen = certificate;
    return std::string();
  };
  Begin("enough");
  Serve();
  while (notebook_.messages().empty()) std::this_thread::yield();
  EXPECT_THAT(notebook_.messages(), ElementsAre("got enough"));
  EXPECT_EQ(seen, certificate_);
}

TEST_F(AClientStreamWithTls, SendsNothingToAServerThatIsJudgedBad) {
  options_.judge = [](const std::string&) { return std::string("it is revoked"); };
  Begin();
  Serve();
  const Ending ending = notebook_.WaitForEnd();
  EXPECT_EQ(ending.kind, Ending::Kind::kRefused);
  EXPECT_EQ(ending.reason, "it is revoked");
  EXPECT_TRUE(notebook_.messages().empty()) << "an echo would say that the hello was sent";
}

TEST_F(AClientStreamWithTls, SaysThatAServerMayHaveNone) {
  Begin();
  acceptor_.accept().close();
  EXPECT_THAT(notebook_.WaitForEnd().reason,
              HasSubstr("; is it a polykern server, started without "));
}

}  // namespace
}  // namespace polykern
