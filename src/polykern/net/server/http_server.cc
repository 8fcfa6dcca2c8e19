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
#include <boost/asio/write.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "polykern/core/error.h"
#include "polykern/net/transport/http_head.h"
#include "polykern/net/transport/loop.h"

namespace polykern {
namespace {

using boost::asio::ip::tcp;
using Socket = boost::asio::generic::stream_protocol::socket;
using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>;

constexpr std::chrono::seconds kRequestTime{5};
constexpr std::chrono::milliseconds kAcceptPause{250};
constexpr std::size_t kMostRequests = 64;  // at once; the oldest makes way

/// One request and its answer.
class Request final : public Loop::Member, public std::enable_shared_from_this<Request> {
 public:
  Request(Loop& loop, Socket socket, const HttpHandler& handle)
      : loop_(loop), socket_(std::move(socket)), handle_(handle) {}

  void Start() {
    loop_.Add(shared_from_this());
    Read();
  }
  void Tick(Loop::Clock::time_point now) override {
    if (now > began_ + kRequestTime) Drop();
  }
  void Drop() override {
    boost::system::error_code ignored;
    socket_.close(ignored);
    loop_.Remove(*this);
  }

 private:
  void Read() {
    socket_.async_wait(Socket::wait_read, [self = shared_from_this()](const auto& error) {
      error ? self->Drop() : self->Take();
    });
  }

  void Take() {
    boost::system::error_code error;
    const std::size_t count =
        socket_.read_some(boost::asio::buffer(loop_.read_buffer(), Loop::kBufferBytes), error);
    if (error) {
      Drop();
      return;
    }
    head_.append(loop_.read_buffer(), count);
    try {
      const auto request = TakeRequestHead(head_);
      request ? Answer(handle_(*request)) : Read();
    } catch (const Error& bad) {
      Answer(HttpAnswer(400, "text/plain; charset=utf-8", std::string(bad.what()) + "\n"));
    }
  }

  void Answer(std::string answer) {
    answer_ = std::move(answer);
    boost::asio::async_write(socket_, boost::asio::buffer(answer_),
                             [self = shared_from_this()](const auto&, std::size_t) {
                               boost::system::error_code ignored;
                               self->socket_.shutdown(Socket::shutdown_send, ignored);
                               self->Drop();
                             });
  }

  Loop& loop_;
  Socket socket_;
  const HttpHandler& handle_;
  const Loop::Clock::time_point began_ = Loop::Clock::now();
  std::string head_;
  std::string answer_;
};

}  // namespace

/// Serves from construction to destruction.
struct HttpServer::Impl {
  explicit Impl(HttpHandler handler)
      : handle(std::move(handler)), acceptor(loop.io()), pause(loop.io()) {}
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
      const auto request = std::make_shared<Request>(loop, std::move(socket), handle);
      requests.push_back(request);
      request->Start();
      Accept();
    });
  }

  const HttpHandler handle;
  Loop loop;
  Acceptor acceptor;
  boost::asio::steady_timer pause;
  std::list<std::weak_ptr<Request>> requests;  // the oldest first
};

HttpServer::HttpServer(const std::string& host, const std::string& port, HttpHandler handle)
    : impl_(std::make_unique<Impl>(std::move(handle))) {
  try {
    const auto found = tcp::resolver(impl_->loop.io()).resolve(host, port, tcp::resolver::passive);
    tcp::acceptor bound(impl_->loop.io(), found.begin()->endpoint(), true);
    address_ = host + ":" + std::to_string(bound.local_endpoint().port());
    impl_->acceptor = std::move(bound);
  } catch (const boost::system::system_error& error) {
    throw Error(error.what());
  }
  impl_->loop.Post([this] { impl_->Accept(); });
}

HttpServer::HttpServer(const std::string& path, HttpHandler handle)
    : impl_(std::make_unique<Impl>(std::move(handle))), address_(path), path_(path) {
  unlink(path.c_str());  // whoever left it has ended
  try {
    boost::asio::local::stream_protocol::acceptor bound(impl_->loop.io());
    bound.open();
    bound.bind(path);
    // Nobody connects before it listens.
    if (chmod(path.c_str(), 0600) != 0) {
      throw boost::system::system_error(errno, boost::system::system_category());
    }
    bound.listen();
    impl_->acceptor = std::move(bound);
  } catch (const boost::system::system_error& error) {
    throw Error(error.what());
  }
  impl_->loop.Post([this] { impl_->Accept(); });
}

HttpServer::~HttpServer() {
  if (!path_.empty()) unlink(path_.c_str());
}

}  // namespace polykern
