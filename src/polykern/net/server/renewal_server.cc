#include "polykern/net/server/renewal_server.h"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <list>
#include <optional>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "polykern/core/error.h"
#include "polykern/net/address.h"
#include "polykern/net/agent/renewal.h"
#include "polykern/net/pki/admission.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/pki/dates.h"
#include "polykern/net/transport/listen.h"
#include "polykern/net/transport/web_socket.h"

namespace polykern {
namespace {

using boost::asio::ip::tcp;

constexpr std::size_t kMostRenewals = 256;  // connections; the oldest makes way
constexpr std::chrono::milliseconds kRenewalPause{100};

/// One connection: a request, its answer, the end.
class RenewalCall final : public WebSocket::Handler {
 public:
  /// The new certificate for who shows this one. What it throws is why not.
  using Renew = std::function<std::string(const std::string& certificate)>;

  explicit RenewalCall(Renew renew) : renew_(std::move(renew)) {}

  static std::shared_ptr<WebSocket> Start(Loop& loop, tcp::socket socket, const TlsContext& tls,
                                          const WebSocketOptions& options, Renew renew) {
    const auto call = std::make_shared<RenewalCall>(std::move(renew));
    const auto connection =
        std::make_shared<WebSocket>(loop, std::move(socket), tls, options, call);
    call->connection_ = connection;
    connection->Start();
    return connection;
  }

  void Opened(const std::string&) override {}
  void Received(std::string) override {
    const auto connection = connection_.lock();
    if (connection == nullptr || std::exchange(asked_, true)) return;
    try {
      connection->Send(std::make_shared<const std::string>(renew_(connection->PeerCertificate())));
    } catch (const Error& error) {
      connection->End({Ending::Kind::kRefused, error.what()});
    }
  }
  void Sent() override {
    if (const auto connection = connection_.lock()) connection->End({Ending::Kind::kFinished, ""});
  }
  void Broke(const std::string& why) override {
    if (const auto connection = connection_.lock()) connection->End({Ending::Kind::kBroken, why});
  }
  void Closed(const Ending&) override {}

 private:
  const Renew renew_;
  std::weak_ptr<WebSocket> connection_;  // which holds this
  bool asked_ = false;
};

}  // namespace

class RenewalServer::Impl {
 public:
  Impl(const RenewalServerOptions& options, Tell tell)
      : options_(options), tell_(std::move(tell)), pause_(loop_.io()) {
    CheckListen(options.listen);
    CheckAuthority(options.authority);
    const AuthorityPaths paths(options.authority);
    admission_.emplace(paths.certificate, paths.revocations);
    MakeTls();
    acceptor_.emplace(ListenOn(loop_.io(), options.listen));
    address_ = AddressOf(*acceptor_, options.listen);
    loop_.Post([this] { Accept(); });
  }
  ~Impl() { loop_.Stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const std::string& address() const { return address_; }
  std::uint64_t renewed() const { return renewed_; }

 private:
  /// Its own certificate, for a month.
  void MakeTls() {
    const std::int64_t now = std::time(nullptr);
    const TemporaryServer own = MakeTemporaryServer(options_.authority, options_.hosts, now);
    tls_ = MakeServerTls(own.pair, own.authority);
    renew_own_ = now + (own.expires - now) / 2;
  }

  void Accept() {
    acceptor_->async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
      if (error == boost::asio::error::operation_aborted) return;
      if (!error) {
        Take(std::move(socket));
        Accept();
        return;
      }
      pause_.expires_after(kRenewalPause);  // no descriptors are left, say
      pause_.async_wait([this](const boost::system::error_code& cancelled) {
        if (!cancelled) Accept();
      });
    });
  }

  void Take(tcp::socket socket) {
    try {
      if (std::time(nullptr) >= renew_own_) MakeTls();
    } catch (const Error& error) {
      tell_("", "trouble", error.what());
    }
    calls_.remove_if([](const auto& call) { return call.expired(); });
    if (calls_.size() >= kMostRenewals) {
      if (const auto oldest = calls_.front().lock()) {
        oldest->Finish({Ending::Kind::kBusy, "closed to make room for newer connections"});
      }
      calls_.pop_front();
    }
    calls_.push_back(RenewalCall::Start(
        loop_, std::move(socket), tls_,
        {.target = kRenewalTarget, .longest_message = 64, .opening_time = options_.opening_time},
        [this](const std::string& certificate) { return Renew(certificate); }));
  }

  std::string Renew(const std::string& certificate) {
    const AdmissionResult who = admission_->Check(certificate);
    const std::string name = who.good() ? who.name : "certificate " + who.serial;
    try {
      if (!who.good()) throw Error(who.reason);
      const std::string fresh =
          RenewClient(options_.authority, certificate, options_.valid, std::time(nullptr));
      ++renewed_;
      tell_(
          name, "renewed",
          "until " + TimeText(ReadCertificate(fresh, "the new certificate").valid.until) + " UTC");
      return fresh;
    } catch (const Error& error) {
      tell_(name, "refused", error.what());
      throw;
    }
  }

  const RenewalServerOptions options_;
  const Tell tell_;
  std::optional<Admission> admission_;
  std::string address_;
  std::atomic<std::uint64_t> renewed_{0};

  // The loop's thread's, but for the constructor.
  TlsContext tls_;
  std::int64_t renew_own_ = 0;
  std::list<std::weak_ptr<WebSocket>> calls_;  // the oldest first

  Loop loop_;
  boost::asio::steady_timer pause_;
  std::optional<tcp::acceptor> acceptor_;
};

RenewalServer::RenewalServer(const RenewalServerOptions& options, Tell tell)
    : impl_(std::make_unique<Impl>(options, std::move(tell))) {}

RenewalServer::~RenewalServer() = default;

std::string RenewalServer::address() const {
  return impl_->address();
}

std::uint64_t RenewalServer::renewed() const {
  return impl_->renewed();
}

}  // namespace polykern
