#include "polykern/net/transport/client_stream.h"

#include <optional>
#include <utility>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "polykern/core/error.h"
#include "polykern/net/transport/failure_words.h"
#include "polykern/net/transport/web_socket.h"

namespace polykern {
namespace {

using boost::asio::ip::tcp;
using Kind = Ending::Kind;

constexpr std::chrono::seconds kConnectTime{10};

struct HostAndPort {
  std::string host, port;
};

/// Of HOST:PORT, without an IPv6 address's brackets.
HostAndPort Split(const std::string& server) {
  const std::size_t colon = server.rfind(':');
  std::string host = server.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return {host, server.substr(colon + 1)};
}

}  // namespace

/// Lives on the loop, from Begin to its end.
class ClientStream::Session final : public Loop::Member,
                                    public WebSocket::Handler,
                                    public std::enable_shared_from_this<Session> {
 public:
  Session(Loop& loop, const ClientStreamOptions& options, ClientStream::Handler& handler)
      : loop_(loop),
        options_(options),
        address_(Split(options.server)),
        handler_(&handler),
        resolver_(loop.io()),
        socket_(loop.io()) {}

  void Begin(std::string hello) {
    began_ = Loop::Clock::now();
    waiting_ = std::move(hello);
    loop_.Add(shared_from_this());
    resolver_.async_resolve(
        address_.host, address_.port,
        [self = shared_from_this()](const auto& error, const tcp::resolver::results_type& found) {
          if (self->over()) return;
          error ? self->CannotConnect(error) : self->Connect(found);
        });
  }

  void Send(std::string bytes) {
    if (!begun()) return;
    waiting_ = std::move(bytes);
    SendNext();
  }
  void SendLowPriority(std::string bytes) {
    if (!begun()) return;
    low_priority_ = std::move(bytes);
    SendNext();
  }
  void Cancel() {
    const Ending cancelled{Kind::kFinished, "cancelled"};
    if (connection_ != nullptr) {
      connection_->End(cancelled);
    } else {
      End(cancelled);
    }
  }

  void Tick(Loop::Clock::time_point now) override {
    if (connection_ == nullptr && now > began_ + kConnectTime) {
      CannotConnect(boost::asio::error::timed_out);
    }
  }
  void Drop() override {
    if (connection_ != nullptr) {
      connection_->Drop();
    } else {
      End({Kind::kFinished, "cancelled"});
    }
  }

  void Opened(const std::string&) override {
    opened_ = true;
    const std::string why =
        options_.judge != nullptr ? options_.judge(connection_->PeerCertificate()) : "";
    if (why.empty()) {
      SendNext();
    } else {
      connection_->End({Kind::kRefused, why});
    }
  }
  void Received(std::string message) override {
    if (!handler_->Received(message)) connection_->End({Kind::kFinished, "not needed"});
  }
  void Sent() override { SendNext(); }
  void Broke(const std::string& why) override { connection_->End({Kind::kBroken, why}); }
  void Closed(const Ending& ending) override {
    if (ending.kind != Kind::kLost) return End(ending);
    End({Kind::kLost, options_.server + ": " + ending.reason + HintAt(ending.reason)});
  }

 private:
  bool over() const { return handler_ == nullptr; }
  bool begun() const { return waiting_ || connection_ != nullptr; }

  /// Who ends a connection before its first answer speaks another language.
  std::string HintAt(const std::string& reason) const {
    if (opened_ || !reason.starts_with("the connection was ")) return {};  // cut, or closed
    return options_.tls == nullptr
               ? "; if the server has certificates, add " + OptionName("certificates")
               : "; is it a polykern server, started without " + OptionName("insecure") + "?";
  }

  void Connect(const tcp::resolver::results_type& found) {
    boost::asio::async_connect(
        socket_, found, [self = shared_from_this()](const auto& error, const tcp::endpoint&) {
          if (self->over()) return;
          error ? self->CannotConnect(error) : self->Open();
        });
  }

  void CannotConnect(const boost::system::error_code& error) {
    End({Kind::kLost, "cannot connect to " + options_.server + ": " + WhyNotConnected(error)});
  }

  void Open() {
    const WebSocketOptions options{
        .target = options_.target,
        .longest_message = options_.longest_message,
        .opening_time = kConnectTime,
        .keepalive = options_.keepalive,
    };
    connection_ = std::make_shared<WebSocket>(loop_, std::move(socket_), options_.tls, options,
                                              shared_from_this(), address_.host, options_.name);
    connection_->Start();
  }

  void SendNext() {
    auto& next = waiting_ ? waiting_ : low_priority_;
    if (connection_ == nullptr || !connection_->is_open() || connection_->is_sending() || !next) {
      return;
    }
    connection_->Send(std::make_shared<const std::string>(*std::exchange(next, {})));
  }

  void End(const Ending& ending) {
    if (over()) return;
    const auto self = shared_from_this();
    boost::system::error_code ignored;
    resolver_.cancel();
    socket_.close(ignored);
    loop_.Remove(*this);
    connection_.reset();
    waiting_.reset();
    std::exchange(handler_, nullptr)->Ended(ending);  // who may destroy the stream
  }

  Loop& loop_;
  const ClientStreamOptions options_;
  const HostAndPort address_;
  ClientStream::Handler* handler_;  // null: it is over
  tcp::resolver resolver_;
  tcp::socket socket_;  // until there is a connection
  Loop::Clock::time_point began_;
  bool opened_ = false;
  std::shared_ptr<WebSocket> connection_;
  std::optional<std::string> waiting_;
  std::optional<std::string> low_priority_;
};

ClientStream::ClientStream(Loop& loop, const ClientStreamOptions& options, Handler& handler)
    : loop_(loop), session_(std::make_shared<Session>(loop, options, handler)) {}

ClientStream::~ClientStream() = default;

void ClientStream::Begin(std::string hello) {
  loop_.Post([session = session_, hello = std::move(hello)]() mutable {
    session->Begin(std::move(hello));
  });
}

void ClientStream::Send(std::string bytes) {
  loop_.Run([session = session_, bytes = std::move(bytes)]() mutable {
    session->Send(std::move(bytes));
  });
}

void ClientStream::SendLowPriority(std::string bytes) {
  loop_.Run([session = session_, bytes = std::move(bytes)]() mutable {
    session->SendLowPriority(std::move(bytes));
  });
}

void ClientStream::Cancel() {
  loop_.Post([session = session_] { session->Cancel(); });
}

}  // namespace polykern
