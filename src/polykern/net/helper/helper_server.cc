#include "polykern/net/helper/helper_server.h"

#include <algorithm>
#include <condition_variable>
#include <ctime>
#include <future>
#include <list>
#include <mutex>
#include <sstream>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "polykern/core/error.h"
#include "polykern/io/files.h"
#include "polykern/net/address.h"
#include "polykern/net/helper/helper_call_internal.h"
#include "polykern/net/helper/key_ring.h"
#include "polykern/net/pki/mask_key_file.h"
#include "polykern/net/transport/listen.h"

namespace polykern {
namespace {

using boost::asio::ip::tcp;
using std::chrono::milliseconds;
using Kind = Ending::Kind;

constexpr std::size_t kMostOpening = 64;  // connections that have not shown who they are
constexpr std::size_t kMostOpen = 4;      // of the server, which needs one
constexpr milliseconds kHelperAcceptPause{100};
constexpr milliseconds kHelperDraws{100};  // much longer than it takes
constexpr std::chrono::seconds kHelperLook{1};
constexpr std::chrono::seconds kHelperGoodbye{1};

/// Who a helper is.
struct HelperIdentity {
  std::string name;
  SecretKey own;
  SignedMaskKey shown;
  TlsContext tls;  // null: insecure
};

HelperIdentity ReadCertified(const std::string& folder, const std::string& keys) {
  const ClientIdentity own = ReadHelperIdentity(folder, std::time(nullptr), keys);
  const AdmissionResult who = CheckCertificate(own.certificate, Role::kHelper, own.authority);
  if (!who.good()) {
    throw Error(folder + "/helper.crt: " + who.reason +
                "; name a folder that polykern pki helper has made");
  }
  return {.name = ReadCertificate(own.certificate, folder).name,
          .own = ReadMaskKey(own.mask_key, folder + "/mask.key"),
          .shown = SignMaskKey(own),
          .tls = MakeServerTls({own.certificate, own.key}, own.authority, Role::kServer)};
}

HelperIdentity ReadUncertified(const std::string& path) {
  if (!FileExists(path)) ReplaceFile(path, MakeMaskKey(), FileMode::kSecret);
  HelperIdentity identity{
      .name = "helper", .own = ReadMaskKey(ReadWholeFile(path), path), .shown = {}, .tls = {}};
  identity.shown.key = PublicKeyOf(identity.own);
  return identity;
}

std::string ShortText(double number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

std::string ReleaseWords(const ReleaseRequest& request) {
  std::set<std::string_view> clients;
  std::uint64_t samples = 0;
  for (const NamedContribution& message : request.messages) {
    clients.insert(message.client);
    samples += message.count.samples;
  }
  return "release " + std::to_string(request.number) + " of epoch " +
         std::to_string(request.epoch) + ": " + std::to_string(request.numbers) +
         " numbers of kind " + std::to_string(request.kind) + ", " +
         std::to_string(clients.size()) + " clients, " + std::to_string(samples) + " samples";
}

}  // namespace

class HelperServer::Impl final : public HelperCall::Owner {
 public:
  Impl(const HelperServerOptions& options, Tell tell)
      : options_(options),
        tell_(std::move(tell)),
        connection_options_{.target = kHelperTarget,
                            .longest_message = LongestToHelper(options.rules.clients.size()),
                            .opening_time = options.hello_time,
                            .keepalive = options.keepalive} {
    CheckListen(options.listen, options.insecure);
    if (!options.insecure) {
      identity_ = ReadCertified(options.certificates, options.keys);
      admission_.emplace(options.certificates + "/ca.crt", options.certificates + "/ca.crl");
    }
    log_ = OpenHelperLog(options.log);
    if (options.insecure) identity_ = ReadUncertified(options.log + "-key");
    ledger_.emplace(options.rules, identity_.name, identity_.own, *log_);
    keys_.emplace(options.rules.clients, admission_ ? &*admission_ : nullptr, *log_);
    acceptor_.emplace(ListenOn(loop_.io(), options.listen));
    address_ = AddressOf(*acceptor_, options.listen);
    loop_.Post([this] {
      loop_.Add(std::make_shared<Watch>(*this));
      Accept();
    });
  }

  ~Impl() override {
    loop_.Post([this] {
      {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
      }
      boost::system::error_code ignored;
      acceptor_->close(ignored);
      pause_.cancel();
      drawn_.cancel();
      for (const auto& call : std::list(calls_)) call->End({Kind::kStopping, "the helper stops"});
      gone_.notify_all();
    });
    {
      std::unique_lock lock(mutex_);
      gone_.wait_for(lock, kHelperGoodbye, [this] { return stopping_ && calls_.empty(); });
    }
    loop_.Stop();
  }

  const std::string& address() const { return address_; }
  const std::string& name() const { return identity_.name; }
  HelperCounts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }
  std::optional<Error> failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  std::string trouble() const {
    {
      const std::lock_guard lock(mutex_);
      if (!trouble_.empty()) return trouble_;
    }
    return admission_ ? admission_->trouble() : std::string();
  }

 private:
  class Watch final : public Loop::Member {
   public:
    explicit Watch(Impl& impl) : impl_(impl) {}
    void Tick(Loop::Clock::time_point now) override { impl_.Look(now); }
    void Drop() override {}

   private:
    Impl& impl_;
  };

  void Accept() {
    acceptor_->async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
      if (stopping_) return;
      if (!error) {
        Take(std::move(socket));
        Accept();
        return;
      }
      pause_.expires_after(kHelperAcceptPause);  // no descriptors are left, say
      pause_.async_wait([this](const boost::system::error_code& cancelled) {
        if (!cancelled && !stopping_) Accept();
      });
    });
  }

  void Take(tcp::socket socket) {
    boost::system::error_code error;
    const std::string address = socket.remote_endpoint(error).address().to_string();
    if (error) return;  // it has gone already
    MakeWay(kMostOpening, false, "closed to make room for newer connections");
    const auto call = std::make_shared<HelperCall>(loop_, *this, address);
    {
      const std::lock_guard lock(mutex_);
      calls_.push_back(call);
    }
    call->Start(std::move(socket), identity_.tls, connection_options_);
  }

  /// The oldest goes, of those that are let in or of the others, if there are so many.
  void MakeWay(std::size_t most, bool let_in, const char* why) {
    const auto is = [&](const auto& call) { return call->is_let_in() == let_in; };
    if (static_cast<std::size_t>(std::ranges::count_if(calls_, is)) < most) return;
    const std::shared_ptr<HelperCall> oldest = *std::ranges::find_if(calls_, is);
    oldest->Drop({let_in ? Kind::kReplaced : Kind::kLost, why});
  }

  std::string Opened(HelperCall& call) override {
    if (admission_) {
      const AdmissionResult who = admission_->Check(call.PeerCertificate(), Role::kServer);
      if (!who.good()) return who.reason;
    }
    MakeWay(kMostOpen, true, "the server has newer connections");
    tell_("connected", "the server, from " + call.address());
    return {};
  }

  std::string Greeted(HelperCall& call, const HelperHello& hello) override {
    const std::string why = ledger_->Refusal(hello.federation, hello.epoch, hello.noise);
    if (!why.empty()) {
      tell_("refused", why);
      call.End({Kind::kRefused, why});
      return {};
    }
    PrepareSoon(hello.noise);
    return Encode(HelperWelcome{.key = identity_.shown,
                                .releases = ledger_->releases(hello.epoch),
                                .takes_keys = true,
                                .noisy = ledger_->noisy_releases(hello.epoch)});
  }

  std::string Asked(HelperCall&, HelperQuestion question) override {
    HelperAnswer answer{.id = question.id};
    const std::uint64_t before = ledger_->releases(question.release.epoch);
    const bool good = UseLog(answer, [&] {
      keys_->Take(question.keys);
      answer.reply = ledger_->Release(question.release, *keys_);
    });
    if (!good) return Encode(answer);
    Note(question.release, answer.reply, before);
    PrepareSoon(question.release.noise);
    return Encode(answer);
  }

  std::string Told(HelperCall&, const HelperKeys& told) override {
    HelperAnswer answer{.id = told.id, .reply = {.kind = HelperReply::Kind::kAnswered}};
    UseLog(answer, [&] { keys_->Take(told.keys); });
    return Encode(answer);
  }

  /// False: the log has failed, now or before, and the answer says so.
  template <class Use>
  bool UseLog(HelperAnswer& answer, const Use& use) {
    try {
      if (failure()) throw Error("it failed before");
      use();
      return true;
    } catch (const Error& error) {
      answer.reply = {.kind = HelperReply::Kind::kLater, .reason = "the helper's log has failed"};
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = error;
      return false;
    }
  }

  /// How long it takes to draw noise reveals something of the noise. So it is drawn before a
  /// request, on a thread of its own, and is there after a time that does not depend on it.
  void PrepareSoon(const NoiseTerms& noise) {
    if (!noise.noisy() || drawing_.valid() || ledger_->HasNoise(noise)) return;
    drawing_ =
        std::async(std::launch::async, [noise] { return std::make_unique<HelperNoise>(noise); });
    UseNoiseLater();
  }
  void UseNoiseLater() {
    drawn_.expires_after(kHelperDraws);
    drawn_.async_wait([this](const boost::system::error_code& cancelled) {
      if (cancelled || stopping_) return;
      if (drawing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
        return UseNoiseLater();
      }
      try {
        ledger_->Use(drawing_.get());
      } catch (const Error& error) {
        const std::lock_guard lock(mutex_);
        trouble_ = error.what();
      }
    });
  }

  /// `before`: releases that were settled.
  void Note(const ReleaseRequest& request, const HelperReply& reply, std::uint64_t before) {
    const bool answered = reply.kind == HelperReply::Kind::kAnswered;
    const bool again = answered && ledger_->releases(request.epoch) == before;
    const std::string noise = answered && request.noise.noisy()
                                  ? "; epsilon spent: " + ShortText(ledger_->EpsilonSpent()) +
                                        " of " + ShortText(request.noise.epsilon)
                                  : "";
    tell_(answered                                  ? again ? "repeated" : "answered"
          : reply.kind == HelperReply::Kind::kLater ? "postponed"
                                                    : "refused",
          ReleaseWords(request) + (answered ? noise : ": " + reply.reason));
    const std::lock_guard lock(mutex_);
    counts_.repeated += again ? 1 : 0;
    counts_.answered += answered && !again ? 1 : 0;
    counts_.refused += answered ? 0 : 1;
    trouble_ = reply.kind == HelperReply::Kind::kLater ? reply.reason : "";
  }

  void Closed(HelperCall& call, const Ending& ending) override {
    if (call.is_let_in()) {
      tell_("left", "the server, at " + call.address() + ": " + ending.reason);
    } else {
      ++unopened_;
      news_ = call.address() + ": " + ending.reason;
    }
    const std::lock_guard lock(mutex_);
    calls_.remove_if([&](const auto& other) { return other.get() == &call; });
    if (calls_.empty()) gone_.notify_all();
  }

  /// From time to time.
  void Look(Loop::Clock::time_point now) {
    if (now < looked_ + kHelperLook) return;
    looked_ = now;
    for (const auto& call : std::list(calls_)) {
      if (!call->is_let_in()) continue;
      if (!call->greeted() && now > call->began() + options_.hello_time) {
        call->End({Kind::kSilent, "no hello was received"});
      } else if (admission_) {
        const AdmissionResult who = admission_->Check(call->PeerCertificate(), Role::kServer);
        if (!who.good()) call->End({Kind::kRefused, who.reason});
      }
    }
    if (unopened_ > 0) {  // one line, however many there were
      tell_("door", std::to_string(std::exchange(unopened_, 0)) +
                        " connections failed; the last: " + news_);
    }
  }

  const HelperServerOptions options_;
  const Tell tell_;
  const WebSocketOptions connection_options_;
  HelperIdentity identity_;
  std::optional<Admission> admission_;
  std::string address_;

  mutable std::mutex mutex_;  // for what follows, up to the loop; its thread reads without
  std::condition_variable gone_;
  std::list<std::shared_ptr<HelperCall>> calls_;  // the oldest first
  bool stopping_ = false;
  HelperCounts counts_;
  std::string trouble_;
  std::optional<Error> failure_;

  // The loop's thread's, but for the constructor.
  std::unique_ptr<HelperLog> log_;
  std::optional<HelperLedger> ledger_;
  std::optional<KeyRing> keys_;
  std::future<std::unique_ptr<HelperNoise>> drawing_;  // not valid: none is drawn
  std::uint64_t unopened_ = 0;
  std::string news_;
  Loop::Clock::time_point looked_{};

  Loop loop_;
  boost::asio::steady_timer pause_{loop_.io()};
  boost::asio::steady_timer drawn_{loop_.io()};
  std::optional<tcp::acceptor> acceptor_;
};

HelperServer::HelperServer(const HelperServerOptions& options, Tell tell)
    : impl_(std::make_unique<Impl>(options, std::move(tell))) {}

HelperServer::~HelperServer() = default;

std::string HelperServer::address() const {
  return impl_->address();
}

std::string HelperServer::name() const {
  return impl_->name();
}

HelperCounts HelperServer::counts() const {
  return impl_->counts();
}

std::string HelperServer::trouble() const {
  return impl_->trouble();
}

std::optional<Error> HelperServer::failure() const {
  return impl_->failure();
}

}  // namespace polykern
