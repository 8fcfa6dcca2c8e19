#include "polykern/net/server/server.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <sys/resource.h>

#include "polykern/core/error.h"
#include "polykern/io/files.h"
#include "polykern/net/address.h"
#include "polykern/net/pki/admission.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/pki/certificates.h"
#include "polykern/net/pki/client_identity.h"
#include "polykern/net/server/openings.h"
#include "polykern/net/server/server_call_internal.h"
#include "polykern/net/transport/http_head.h"
#include "polykern/net/transport/listen.h"

namespace polykern {
namespace {

using boost::asio::ip::tcp;
using std::chrono::milliseconds;
using Kind = Ending::Kind;

constexpr milliseconds kTick{20};
constexpr std::chrono::seconds kLook{1};             // at calls that say nothing, and revocations
constexpr std::chrono::seconds kCheckEverybody{60};  // clocks may be set
constexpr std::int64_t kRenewalTime = 600;           // seconds: its next one comes with it
constexpr std::chrono::seconds kGoodbye{2};
constexpr std::chrono::seconds kStarvedTime{3};  // that it is told of
constexpr milliseconds kStarvedPause{100};       // before the next attempt to get a descriptor
constexpr rlim_t kOtherFiles = 64;               // than connections
constexpr std::size_t kMakeWay = 16;             // that free theirs each time

milliseconds TickOf(const ServerOptions& options) {
  return std::clamp(std::min(options.keepalive, options.hello_time) / 8, milliseconds(5),
                    milliseconds(1000));
}

/// One thread for two cores: another one decodes, adds up and writes as well.
std::size_t LoopsHere() {
  return std::clamp<std::size_t>(std::thread::hardware_concurrency() / 2, 1, 8);
}

}  // namespace

void CheckListen(const ServerOptions& options) {
  CheckListen(options.listen, options.insecure && !options.insecure_anywhere);
}

std::size_t MostConnectedHere() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return limit.rlim_cur < kOtherFiles ? 0 : limit.rlim_cur - kOtherFiles;
}

class FederationServer::Impl final : public ServerCall::Doorkeeper {
 public:
  Impl(const ServerOptions& options, const ModelShape& shape, Rounds& rounds)
      : options_(options),
        rounds_(rounds),
        connection_options_{
            .longest_message = std::max(LongestClientMessage(shape), rounds.longest_ranges()),
            .opening_time = options.hello_time,
            .keepalive = options.keepalive},
        openings_(options.most_handshakes, options.most_handshakes_of_address) {
    CheckListen(options);
    if (!options.insecure) {
      CheckAuthority(options.certificates);
      const AuthorityPaths paths(options.certificates, options.keys);
      const ClientIdentity own = ReadServerIdentity(options.certificates, options.keys);
      admission_.emplace(paths.certificate, paths.revocations);
      tls_ = MakeServerTls({own.certificate, own.key}, own.authority);
      expires_ = ReadCertificate(own.certificate, paths.server_certificate).valid.until;
      RecheckAbsent(Now());
    }
    for (std::size_t n = 0; n < LoopsHere(); ++n) {
      loops_.push_back(std::make_unique<Loop>(TickOf(options)));
    }
    Listen();
    writer_ = std::jthread([this](const std::stop_token& stop) {
      while (rounds_.WaitForWork(stop, kTick)) rounds_.Commit(Now());
    });
    watcher_ = std::jthread([this](const std::stop_token& stop) { Watch(stop); });
  }

  ~Impl() override {
    watcher_.request_stop();
    watcher_.join();
    loops_[0]->Post([this] {
      stopping_ = true;
      boost::system::error_code ignored;
      acceptor_->close(ignored);
      pause_->cancel();
    });
    for (const auto& call : Calls()) call->EndSoon({Kind::kStopping, "the server stops"});
    {
      std::unique_lock lock(mutex_);
      gone_.wait_for(lock, kGoodbye, [this] { return calls_.empty(); });
    }
    for (const auto& loop : loops_) loop->Stop();
    writer_.request_stop();
    writer_.join();
    rounds_.Commit(Now());  // what came last
  }

  const std::string& address() const { return address_; }
  std::optional<std::int64_t> expires() const { return expires_; }
  ServerTraffic traffic() const {
    return {traffic_.in, traffic_.out, unopened_, made_way_, crowded_};
  }
  std::string trouble() const {
    if (IsStarved())
      return "no file descriptors are left for connections: raise their limit (ulimit -n)";
    return admission_ ? admission_->trouble() : std::string();
  }

 private:
  /// Was there lately no descriptor for a connection?
  bool IsStarved() const { return Now().time_since_epoch().count() < starved_until_; }

  void Listen() {
    boost::asio::io_context& io = loops_[0]->io();
    acceptor_.emplace(ListenOn(io, options_.listen));
    pause_.emplace(io);
    address_ = AddressOf(*acceptor_, options_.listen);
    loops_[0]->Post([this] { Accept(); });
  }

  void Accept() {
    Loop& loop = *loops_[next_loop_++ % loops_.size()];
    acceptor_->async_accept(
        loop.io(), [this, &loop](const boost::system::error_code& error, tcp::socket socket) {
          if (stopping_) return;
          if (error && error != boost::asio::error::connection_aborted) {
            AcceptLater(error);
            return;
          }
          if (!error) Take(loop, std::move(socket));
          Accept();
        });
  }

  /// When some descriptors may be free again: those of connections that were not opened yet.
  void AcceptLater(const boost::system::error_code& error) {
    const bool starved = error.value() == EMFILE || error.value() == ENFILE;
    if (starved) starved_until_ = (Now() + kStarvedTime).time_since_epoch().count();
    for (std::size_t n = 0; starved && n < kMakeWay; ++n) {
      const auto oldest = openings_.TakeOldest();
      if (oldest == nullptr) break;
      ++made_way_;
      oldest->DropSoon({Kind::kLost, "closed: no file descriptors were left"});
    }
    pause_->expires_after(kStarvedPause);
    pause_->async_wait([this](const boost::system::error_code& cancelled) {
      if (!cancelled && !stopping_) Accept();
    });
  }

  void Take(Loop& loop, tcp::socket socket) {
    boost::system::error_code error;
    const std::string address = socket.remote_endpoint(error).address().to_string();
    if (error) return;  // it has gone already
    const auto call = std::make_shared<ServerCall>(loop, rounds_, traffic_, *this);
    if (const auto oldest = openings_.Add(address, call)) {
      ++made_way_;
      oldest->DropSoon({Kind::kLost, "closed to make room for newer connections from " + address});
    }
    loop.Run([this, call, socket = std::move(socket)]() mutable {
      call->Start(std::move(socket), tls_, connection_options_);
    });
  }

  void Opened(ServerCall& call, const std::string& name) override {
    openings_.Remove(call);
    call.who = Identify(call, name);
    const char* crowded = nullptr;
    bool told = false;  // so often that it does not listen
    {
      const std::lock_guard lock(mutex_);
      std::size_t& own = calls_of_[call.who.name];
      if (calls_.size() >= options_.most_connections) crowded = "the server is full";
      if (own >= options_.most_of_one) crowded = "this client has too many connections";
      told = own >= 2 * options_.most_of_one;
      ++own;
      calls_.emplace(&call, call.shared_from_this());
    }
    if (!call.who.good()) {
      rounds_.Refused("certificate " + call.who.serial, call.who.reason);
      call.End({Kind::kRefused, call.who.reason});
    } else if (crowded != nullptr) {
      ++crowded_;
      Note(call.who.name + ": " + crowded);
      if (told) {
        call.End({Kind::kBusy, crowded});
      } else {
        call.TurnAway(rounds_.RetryWindow(crowded));
      }
    } else if (rounds_.IsBanned(call.who.name, Now())) {
      call.TurnAway(rounds_.RetryWindow(kBanned));
    } else {
      call.Begin();
    }
  }

  void Closed(ServerCall& call, const Ending& ending) override {
    const std::string address = openings_.Remove(call);
    const std::lock_guard lock(mutex_);
    if (calls_.erase(&call) == 0) {
      ++unopened_;
      news_ = (address.empty() ? "" : address + ": ") + ending.reason + OldClientName(call, ending);
      return;
    }
    const auto own = calls_of_.find(call.who.name);
    if (--own->second == 0) calls_of_.erase(own);
    if (calls_.empty()) gone_.notify_all();
  }

  /// A client of an old version is named.
  std::string OldClientName(const ServerCall& call, const Ending& ending) {
    if (ending.kind != Kind::kVersion || !admission_) return {};
    const AdmissionResult who = admission_->CheckVerified(call.Peer());
    return who.good() ? " (" + who.name + ": update it)" : "";
  }

  AdmissionResult Identify(ServerCall& call, const std::string& name) {
    if (admission_) {
      call.certificate = call.Peer();
      return admission_->CheckVerified(call.certificate);
    }
    if (IsClientName(name)) return {.name = name};
    return {.reason = std::string("a client must say its name in ") + kNameField};
  }

  void Note(const std::string& news) {
    const std::lock_guard lock(mutex_);
    news_ = news;
  }

  /// What has to be done from time to time.
  void Watch(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wait;
    auto checked = Now();
    std::uint64_t told = 0;
    for (;;) {
      std::unique_lock lock(mutex);
      if (wait.wait_for(lock, stop, kLook, [] { return false; }) || stop.stop_requested()) return;
      const auto now = Now();
      for (const auto& call : Calls()) {
        if (call->SilentSince(now - options_.hello_time)) {
          call->EndSoon({Kind::kSilent, "no hello was received"});
        }
        if (call->who.valid_until < std::time(nullptr)) PutOut(*call, now);
      }
      TellOfTheDoor(told);
      if (admission_ && (admission_->Refresh() || now - checked >= kCheckEverybody)) {
        checked = now;
        Recheck(now);
      }
    }
  }

  /// One line at most, however many there were.
  void TellOfTheDoor(std::uint64_t& told) {
    const std::uint64_t all = unopened_ + crowded_;
    if (all == told) return;
    std::string last;
    {
      const std::lock_guard lock(mutex_);
      last = news_;
    }
    rounds_.Tell("door", std::to_string(all - std::exchange(told, all)) +
                             " connections failed; the last: " + last);
  }

  void Recheck(Rounds::Time now) {
    for (const auto& call : Calls()) PutOut(*call, now);
    RecheckAbsent(now);
  }

  /// Who is not connected, and can never be with the certificate that it has.
  void RecheckAbsent(Rounds::Time now) {
    rounds_.Recheck(
        [this, today = std::time(nullptr)](const ClientNote& note) {
          return note.expires + kRenewalTime > today && !admission_->IsRevoked(note.serial);
        },
        now);
  }

  /// Unless its certificate is still good.
  void PutOut(ServerCall& call, Rounds::Time now) {
    const AdmissionResult result = admission_->CheckVerified(call.certificate);
    if (result.good()) return;
    rounds_.Expel(call.who.name, result.reason, now);
    call.EndSoon({Kind::kRefused, result.reason});
  }

  std::vector<std::shared_ptr<ServerCall>> Calls() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<ServerCall>> calls;
    calls.reserve(calls_.size());
    for (const auto& [key, call] : calls_) calls.push_back(call);
    return calls;
  }

  const ServerOptions options_;
  Rounds& rounds_;
  const WebSocketOptions connection_options_;
  TrafficCount traffic_;
  std::atomic<std::uint64_t> unopened_{0};
  std::atomic<std::uint64_t> made_way_{0};
  std::atomic<std::uint64_t> crowded_{0};
  std::atomic<Rounds::Time::rep> starved_until_{0};  // of descriptors
  std::optional<std::int64_t> expires_;              // the certificate
  std::optional<Admission> admission_;
  TlsContext tls_;  // null: insecure
  std::string address_;
  Openings openings_;
  std::mutex mutex_;  // for what follows, up to the loops
  std::condition_variable gone_;
  std::unordered_map<const ServerCall*, std::shared_ptr<ServerCall>> calls_;  // that are open
  std::unordered_map<std::string, std::size_t> calls_of_;                     // by name
  std::string news_;  // of the last connection that failed

  std::vector<std::unique_ptr<Loop>> loops_;
  // The first loop's.
  std::optional<tcp::acceptor> acceptor_;
  std::optional<boost::asio::steady_timer> pause_;
  std::size_t next_loop_ = 0;
  bool stopping_ = false;

  std::jthread writer_;   // ends and writes steps
  std::jthread watcher_;  // of what has to be done from time to time
};

FederationServer::FederationServer(const ServerOptions& options, const ModelShape& shape,
                                   Rounds& rounds)
    : impl_(std::make_unique<Impl>(options, shape, rounds)) {}

FederationServer::~FederationServer() = default;

std::string FederationServer::address() const {
  return impl_->address();
}

std::optional<std::int64_t> FederationServer::expires() const {
  return impl_->expires();
}

ServerTraffic FederationServer::traffic() const {
  return impl_->traffic();
}

std::string FederationServer::trouble() const {
  return impl_->trouble();
}

}  // namespace polykern
