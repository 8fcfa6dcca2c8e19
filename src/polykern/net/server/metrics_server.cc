#include "polykern/net/server/metrics_server.h"

#include <cerrno>
#include <list>
#include <optional>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include "polykern/core/error.h"
#include "polykern/net/address.h"
#include "polykern/net/transport/http_head.h"
#include "polykern/net/transport/loop.h"

namespace polykern {
namespace {

using boost::asio::ip::tcp;
using Look = std::function<ServerView()>;

constexpr std::chrono::seconds kRequestTime{5};
constexpr std::chrono::milliseconds kAcceptPause{250};
constexpr std::size_t kMostRequests = 64;  // at once; the oldest makes way

std::string AnswerTo(const HttpHead& request, const Look& look) {
  const std::string text = "text/plain; charset=utf-8";
  if (request.method != "GET") return HttpAnswer(405, text, "only GET is understood\n");
  const std::string page = request.target.substr(0, request.target.find('?'));
  if (page == "/metrics") {
    return HttpAnswer(200, "text/plain; version=0.0.4; charset=utf-8", ToMetrics(look()));
  }
  if (page == "/status") return HttpAnswer(200, "application/json", ToJson(look()));
  if (page == "/healthz") {
    const std::string trouble = look().trouble;
    return HttpAnswer(trouble.empty() ? 200 : 503, text, (trouble.empty() ? "ok" : trouble) + "\n");
  }
  return HttpAnswer(404, text, "there are /metrics, /status and /healthz\n");
}

/// One request and its answer.
class Request final : public Loop::Member, public std::enable_shared_from_this<Request> {
 public:
  Request(Loop& loop, tcp::socket socket, const Look& look)
      : loop_(loop), socket_(std::move(socket)), look_(look) {}

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
    socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](const auto& error) {
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
      request ? Answer(AnswerTo(*request, look_)) : Read();
    } catch (const Error& bad) {
      Answer(HttpAnswer(400, "text/plain; charset=utf-8", std::string(bad.what()) + "\n"));
    }
  }

  void Answer(std::string answer) {
    answer_ = std::move(answer);
    boost::asio::async_write(socket_, boost::asio::buffer(answer_),
                             [self = shared_from_this()](const auto&, std::size_t) {
                               boost::system::error_code ignored;
                               self->socket_.shutdown(tcp::socket::shutdown_send, ignored);
                               self->Drop();
                             });
  }

  Loop& loop_;
  tcp::socket socket_;
  const Look& look_;
  const Loop::Clock::time_point began_ = Loop::Clock::now();
  std::string head_;
  std::string answer_;
};

}  // namespace

/// Serves from construction to destruction.
struct MetricsServer::Impl {
  /// Throws what boost throws if that cannot be listened on.
  Impl(const std::string& host, const std::string& port, Look view)
      : look(std::move(view)), acceptor(loop.io()), pause(loop.io()) {
    const auto found = tcp::resolver(loop.io()).resolve(host, port, tcp::resolver::passive);
    acceptor = tcp::acceptor(loop.io(), found.begin()->endpoint(), true);
    loop.Post([this] { Accept(); });
  }
  ~Impl() { loop.Stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void Accept() {
    acceptor.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
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
      const auto request = std::make_shared<Request>(loop, std::move(socket), look);
      requests.push_back(request);
      request->Start();
      Accept();
    });
  }

  const Look look;
  Loop loop;
  tcp::acceptor acceptor;
  boost::asio::steady_timer pause;
  std::list<std::weak_ptr<Request>> requests;  // the oldest first
};

MetricsServer::MetricsServer(const std::string& listen, std::function<ServerView()> look) {
  const std::size_t colon = listen.rfind(':');
  std::string host = colon == std::string::npos ? "127.0.0.1" : listen.substr(0, colon);
  const std::string port = listen.substr(colon == std::string::npos ? 0 : colon + 1);
  if (host == "localhost") host = "127.0.0.1";
  const Error bad(OptionName("metrics") + " cannot listen on " + listen +
                  "; is the address right, and the port free?");
  if (!HasPort(host + ":" + port)) throw bad;
  try {
    impl_ = std::make_unique<Impl>(host, port, std::move(look));
  } catch (const boost::system::system_error&) {
    throw bad;
  }
  address_ = host + ":" + std::to_string(impl_->acceptor.local_endpoint().port());
}

MetricsServer::~MetricsServer() = default;

}  // namespace polykern
