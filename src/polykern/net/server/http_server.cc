#include "polykern/net/server/http_server.h"

#include <cerrno>
#include <list>
#include <optional>
#include <system_error>
#include <utility>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "polykern/core/error.h"
#include "polykern/net/address.h"
#include "polykern/net/transport/listen.h"
#include "polykern/net/transport/loop.h"

namespace polykern {
namespace {

using boost::asio::ip::tcp;
using Socket = boost::asio::generic::stream_protocol::socket;
using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>;

constexpr std::chrono::seconds kRequestTime{5};  // until it is whole
constexpr std::chrono::seconds kAnswerTime{30};  // until the answer is sent: links may be slow
constexpr std::chrono::milliseconds kAcceptPause{250};
constexpr std::size_t kMostRequests = 64;  // at once; the oldest makes way
constexpr int kMostReads = 256;            // of one, whatever TLS makes of them

/// One request and its answer.
class Request final : public Loop::Member, public std::enable_shared_from_this<Request> {
 public:
  Request(Loop& loop, Socket socket, const TlsContext& tls, const HttpHandler& handle)
      : loop_(loop),
        socket_(std::move(socket)),
        tls_(tls, socket_.native_handle(), Side::kServer, ""),
        handle_(handle) {}

  void Start() {
    loop_.Add(shared_from_this());
    Wait(Socket::wait_read, &Request::Secure);
  }
  void Tick(Loop::Clock::time_point now) override {
    if (now > began_ + (answer_.empty() ? kRequestTime : kAnswerTime)) Drop();
  }
  void Drop() override {
    boost::system::error_code ignored;
    socket_.close(ignored);
    loop_.Remove(*this);
  }

 private:
  using Next = void (Request::*)();
  using TlsState = TlsSocket::State;

  void Wait(Socket::wait_type what, Next next) {
    socket_.async_wait(what, [self = shared_from_this(), next](const auto& error) {
      error ? self->Drop() : (self.get()->*next)();
    });
  }

  /// After what is not done.
  void Again(TlsState state, Next next) {
    if (state == TlsState::kNeedsWrite) {
      Wait(Socket::wait_write, next);
    } else if (state != TlsState::kNeedsRead || ++reads_ > kMostReads) {
      Drop();
    } else if (tls_.HasMore()) {  // the socket would not tell of it
      loop_.Post([self = shared_from_this(), next] {
        if (self->socket_.is_open()) (self.get()->*next)();
      });
    } else {
      Wait(Socket::wait_read, next);
    }
  }

  void Secure() {
    const TlsSocket::Result result = tls_.Handshake();
    result.state == TlsState::kDone ? Take() : Again(result.state, &Request::Secure);
  }

  void Take() {
    const TlsSocket::Result result = tls_.Read(loop_.read_buffer(), Loop::kBufferBytes);
    if (result.state != TlsState::kDone) {
      Again(result.state, &Request::Take);
      return;
    }
    head_.append(loop_.read_buffer(), result.bytes);
    try {
      const auto request = TakeRequestHead(head_);
      if (!request) {
        Again(TlsState::kNeedsRead, &Request::Take);
        return;
      }
      answer_ = handle_(*request, tls_.Peer());
    } catch (const Error& bad) {
      answer_ = HttpAnswer(400, "text/plain; charset=utf-8", std::string(bad.what()) + "\n");
    }
    Send();
  }

  void Send() {
    while (sent_ < answer_.size()) {
      const TlsSocket::Result result = tls_.Write(answer_.data() + sent_, answer_.size() - sent_);
      if (result.state != TlsState::kDone) {
        Again(result.state, &Request::Send);
        return;
      }
      sent_ += result.bytes;
    }
    tls_.SayGoodbye();
    boost::system::error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
    Drop();
  }

  Loop& loop_;
  Socket socket_;
  TlsSocket tls_;
  const HttpHandler& handle_;
  const Loop::Clock::time_point began_ = Loop::Clock::now();
  int reads_ = 0;
  std::string head_;
  std::string answer_;
  std::size_t sent_ = 0;
};

/// HOST:PORT of PORT, or of that; localhost is the one that most programs mean.
std::string WithHost(const std::string& listen) {
  const std::string localhost = "localhost:";
  if (listen.starts_with(localhost)) return "127.0.0.1:" + listen.substr(localhost.size());
  return (listen.find(':') == std::string::npos ? "127.0.0.1:" : "") + listen;
}

}  // namespace

/// Serves from construction to destruction.
struct HttpServer::Impl {
  Impl(TlsContext context, HttpHandler handler)
      : tls(std::move(context)),
        handle(std::move(handler)),
        acceptor(loop.io()),
        pause(loop.io()) {}
  ~Impl() { loop.Stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void Accept() {
    acceptor.async_accept([this](const boost::system::error_code& error, Socket socket) {
      if (error == boost::asio::error::operation_aborted) return;
      if (error) {  // no descriptors, most likely
        pause.expires_after(kAcceptPause);
        pause.async_wait([this](const auto& cancelled) {
          if (!cancelled) Accept();
        });
        return;
      }
      std::erase_if(requests, [](const auto& request) { return request.expired(); });
      if (requests.size() >= kMostRequests) {
        if (const auto oldest = requests.front().lock()) oldest->Drop();
        requests.pop_front();
      }
      socket.non_blocking(true);
      const auto request = std::make_shared<Request>(loop, std::move(socket), tls, handle);
      requests.push_back(request);
      request->Start();
      Accept();
    });
  }

  const TlsContext tls;
  const HttpHandler handle;
  Loop loop;
  Acceptor acceptor;
  boost::asio::steady_timer pause;
  std::list<std::weak_ptr<Request>> requests;  // the oldest first
};

HttpServer::HttpServer(const std::string& option, const std::string& listen, const TlsContext& tls,
                       HttpHandler handle)
    : impl_(std::make_unique<Impl>(tls, std::move(handle))) {
  const std::string address = WithHost(listen);
  if (!HasPort(address)) {
    throw Error(OptionName(option, listen) + ": not of the form HOST:PORT, port 0 to 65535");
  }
  tcp::acceptor bound = ListenOn(impl_->loop.io(), address, OptionName(option));
  address_ = AddressOf(bound, address);
  impl_->acceptor = std::move(bound);
  impl_->loop.Post([this] { impl_->Accept(); });
}

HttpServer::HttpServer(const std::string& path, HttpHandler handle)
    : impl_(std::make_unique<Impl>(nullptr, std::move(handle))), address_(path), path_(path) {
  unlink(path.c_str());  // the process that left it has ended
  try {
    boost::asio::local::stream_protocol::acceptor bound(impl_->loop.io());
    bound.open();
    bound.bind(path);
    // No client connects before it listens.
    if (chmod(path.c_str(), 0600) != 0) {
      throw boost::system::system_error(errno, boost::system::system_category());
    }
    bound.listen();
    impl_->acceptor = std::move(bound);
  } catch (const boost::system::system_error& error) {
    throw Error(path + ": cannot listen there; name a store in a folder where this user may make " +
                "files (" + error.code().message() + ")");
  }
  impl_->loop.Post([this] { impl_->Accept(); });
}

HttpServer::~HttpServer() {
  if (!path_.empty()) unlink(path_.c_str());
}

}  // namespace polykern
