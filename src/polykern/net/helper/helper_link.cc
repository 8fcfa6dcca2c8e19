#include "polykern/net/helper/helper_link.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/io/files.h"
#include "polykern/net/helper/helper_wire.h"
#include "polykern/net/pki/admission.h"
#include "polykern/net/pki/authority_folder.h"
#include "polykern/net/pki/certificates.h"
#include "polykern/net/pki/client_identity.h"
#include "polykern/net/transport/client_stream.h"
#include "polykern/net/transport/loop.h"
#include "polykern/net/transport/tls.h"

namespace polykern {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kKeysAtOnce = 32;  // to prove them takes a helper so many milliseconds

TlsContext ReadOwnTls(const HelperLinkOptions& options) {
  return MakeClientTls(ReadServerIdentity(options.certificates, options.keys), Role::kHelper);
}

}  // namespace

class HelperLink::Impl final : private ClientStream::Handler {
 public:
  explicit Impl(const HelperLinkOptions& options) : options_(options) {
    if (!options.insecure) {
      const AuthorityPaths paths(options.certificates);
      CheckAuthority(options.certificates);
      admission_.emplace(paths.certificate, paths.revocations);
      tls_ = ReadOwnTls(options);
    }
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  }

  std::optional<HelperGreeting> WaitForHelper(milliseconds wait, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, wait, [this] { return greeting_.has_value(); });
    return greeting_;
  }

  std::optional<HelperGreeting> greeting() const {
    const std::lock_guard lock(mutex_);
    return greeting_;
  }

  void AddKey(const std::string& client, const SignedMaskKey& key) {
    const std::lock_guard lock(mutex_);
    const auto held = keys_.find(client);
    if (held != keys_.end() && held->second.key == key) return;  // it has come back
    keys_.insert_or_assign(client, HeldKey{key, ++last_key_});
    untold_.push_back(client);
    loop_.Post([this] { TellKeys(); });
  }

  HelperReply Ask(const ReleaseRequest& request, milliseconds wait, const std::stop_token& stop) {
    const std::lock_guard one(asking_);
    const auto deadline = Clock::now() + wait;
    const ReleaseDigest digest = DigestOf(request);
    std::unique_lock lock(mutex_);
    while (changed_.wait_until(lock, stop, deadline, [this] { return ready_; })) {
      if (!asked_ || asked_->digest != digest) Send(request, digest);
      changed_.wait_until(lock, stop, deadline, [this] { return !asked_ || asked_->reply; });
      if (!asked_) continue;  // the connection was lost: on the next one
      if (!asked_->reply) break;
      HelperReply reply = std::move(*asked_->reply);
      asked_.reset();
      trouble_ = reply.kind == HelperReply::Kind::kAnswered ? "" : reply.reason;
      if (reply.kind != HelperReply::Kind::kLater) answered_ = Clock::now();
      return reply;
    }
    return {.kind = HelperReply::Kind::kLater,
            .reason = trouble_.empty() ? options_.helper + ": the helper has not answered yet"
                                       : trouble_};
  }

  std::string trouble() const {
    const std::lock_guard lock(mutex_);
    return trouble_;
  }
  bool connected() const {
    const std::lock_guard lock(mutex_);
    return ready_;
  }
  std::optional<double> answered_seconds() const {
    const std::lock_guard lock(mutex_);
    if (!answered_) return {};
    return std::chrono::duration<double>(Clock::now() - *answered_).count();
  }

 private:
  struct HeldKey {
    SignedMaskKey key;
    std::uint64_t number = 0;  // of all keys that were added
    bool known = false;        // to the helper, since this connection began
  };
  using KeyNumbers = std::map<std::string, std::uint64_t>;  // by client
  /// Keys that the helper was told of on this connection, and has not answered for.
  struct Telling {
    std::uint64_t id = 0;
    KeyNumbers keys = {};
  };
  /// A release that was asked for on this connection.
  struct Asked {
    std::uint64_t id = 0;
    ReleaseDigest digest{};
    std::uint64_t numbers = 0;
    KeyNumbers keys = {};  // that went with it
    std::optional<HelperReply> reply = {};
  };

  void Run(const std::stop_token& stop) {
    milliseconds wait = options_.first_wait;
    while (!stop.stop_requested()) {
      if (Connect(stop)) wait = options_.first_wait;
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, wait, [] { return false; });
      wait = std::min(2 * wait, options_.longest_wait);
    }
  }

  /// One connection from beginning to end. True: the helper was there.
  bool Connect(const std::stop_token& stop) {
    try {
      if (!options_.insecure) tls_ = ReadOwnTls(options_);
    } catch (const Error& error) {  // they are being renewed; those from before may do
      const std::lock_guard lock(mutex_);
      trouble_ = error.marked();
    }
    ClientStream stream(loop_,
                        {.server = options_.helper,
                         .tls = tls_,
                         .name = options_.insecure ? "server" : "",
                         .keepalive = options_.keepalive,
                         .target = kHelperTarget,
                         .longest_message = LongestFromHelper(options_.most_numbers),
                         .judge = [this](const std::string& pem) { return Judge(pem); }},
                        *this);
    {
      const std::lock_guard lock(mutex_);
      stream_ = &stream;
      ending_.reset();
      why_.clear();
    }
    const std::stop_callback cancel(stop, [&stream] { stream.Cancel(); });
    stream.Begin(Encode(HelperHello{
        .federation = options_.federation, .epoch = options_.epoch, .noise = options_.noise}));
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ending_.has_value(); });
    stream_ = nullptr;
    asked_.reset();
    telling_.reset();
    untold_.clear();
    for (auto& [client, key] : keys_) {
      key.known = false;
      untold_.push_back(client);
    }
    const std::string& why = why_.empty() ? ending_->reason : why_;
    trouble_ = options_.helper + ": the helper is away" + (why.empty() ? "" : " (" + why + ")");
    changed_.notify_all();
    return std::exchange(ready_, false);
  }

  /// On the loop's thread. TLS has seen to the role; this, to revocations.
  std::string Judge(const std::string& certificate) {
    if (!admission_) return {};
    const AdmissionResult helper = admission_->Check(certificate, Role::kHelper);
    name_ = helper.name;
    return helper.reason;
  }

  bool Received(std::string_view bytes) override {
    try {
      const FromHelper message = DecodeFromHelper(bytes);
      if (const auto* welcome = std::get_if<HelperWelcome>(&message)) {
        Welcomed(*welcome);
      } else {
        Answered(std::get<HelperAnswer>(message));
      }
      TellKeys();
      return true;
    } catch (const Error& error) {
      const std::lock_guard lock(mutex_);
      why_ = error.what();
      return false;
    }
  }

  void Welcomed(const HelperWelcome& welcome) {
    if (welcome.version != kHelperVersion) {
      throw Error("the helper speaks version " + std::to_string(welcome.version) +
                  " of the protocol: update the older one");
    }
    HelperGreeting greeting{
        .name = "helper", .key = welcome.key, .releases = welcome.releases, .noisy = welcome.noisy};
    if (admission_) {
      greeting.name = VerifyMaskKey(welcome.key, Role::kHelper, *admission_).name;
      if (greeting.name != name_) throw Error("the helper shows a mask key that is not its own");
    }
    const std::lock_guard lock(mutex_);
    greeting_ = std::move(greeting);
    ready_ = true;
    takes_keys_ = welcome.takes_keys;
    trouble_.clear();
    changed_.notify_all();
  }

  void Answered(const HelperAnswer& answer) {
    const std::lock_guard lock(mutex_);
    if (telling_ && telling_->id == answer.id) {
      if (answer.reply.kind == HelperReply::Kind::kAnswered) MarkKnown(telling_->keys);
      telling_.reset();
      return;
    }
    if (!asked_ || asked_->id != answer.id) return;  // no one waits for it any more
    if (answer.reply.kind == HelperReply::Kind::kAnswered &&
        answer.reply.streams.size() != asked_->numbers) {
      throw Error("the helper's answer has the wrong length");
    }
    asked_->reply = answer.reply;
    MarkKnown(asked_->keys);
    changed_.notify_all();
  }

  /// The caller holds the mutex.
  void MarkKnown(const KeyNumbers& told) {
    for (const auto& [client, number] : told) {
      HeldKey& key = keys_.at(client);
      key.known = key.number == number;
    }
  }

  /// The helper is told of keys that it has not had, and proves them, before a release needs them:
  /// some at a time, so that a release does not wait for many. On the loop's thread: there the
  /// stream does not end meanwhile.
  void TellKeys() {
    std::unique_lock lock(mutex_);
    if (!ready_ || !takes_keys_ || ending_ || telling_) return;
    HelperKeys told{.id = ++last_id_};
    Telling telling{.id = told.id};
    for (; !untold_.empty() && told.keys.size() < kKeysAtOnce; untold_.pop_front()) {
      const auto held = keys_.find(untold_.front());
      if (held->second.known) continue;
      told.keys.emplace(held->first, held->second.key);
      telling.keys.emplace(held->first, held->second.number);
    }
    if (told.keys.empty()) return;
    telling_ = std::move(telling);
    ClientStream& stream = *stream_;
    lock.unlock();
    stream.SendLowPriority(Encode(told));  // nothing that was asked for makes way for it
  }

  /// With the keys that it has not had. The caller holds the mutex.
  void Send(const ReleaseRequest& request, const ReleaseDigest& digest) {
    HelperQuestion question{.id = ++last_id_, .release = request};
    asked_ = Asked{.id = question.id, .digest = digest, .numbers = request.numbers};
    for (const NamedContribution& message : request.messages) {
      const auto held = keys_.find(message.client);
      if (held == keys_.end() || held->second.known) continue;
      question.keys.emplace(held->first, held->second.key);
      asked_->keys.emplace(held->first, held->second.number);
    }
    stream_->Send(Encode(question));
  }

  void Ended(const Ending& ending) override {
    const std::lock_guard lock(mutex_);
    ending_ = ending;
    changed_.notify_all();
  }

  const HelperLinkOptions options_;
  std::optional<Admission> admission_;
  TlsContext tls_;    // the thread's
  std::string name_;  // the loop's thread's: of the helper's certificate

  std::mutex asking_;         // held for as long as someone asks
  mutable std::mutex mutex_;  // for all that follows
  std::condition_variable_any changed_;
  ClientStream* stream_ = nullptr;
  std::optional<Ending> ending_;  // of the stream that ended
  std::string why_;               // it is of no use
  bool ready_ = false;            // the helper has greeted on this connection
  bool takes_keys_ = false;       // and takes keys before a release needs them
  std::optional<HelperGreeting> greeting_;
  std::optional<Asked> asked_;
  std::map<std::string, HeldKey> keys_;
  std::deque<std::string> untold_;  // clients whose keys the helper may not know
  std::optional<Telling> telling_;
  std::optional<Clock::time_point> answered_;  // when it last did
  std::uint64_t last_id_ = 0;
  std::uint64_t last_key_ = 0;
  std::string trouble_ = "the helper has not connected yet";

  Loop loop_;
  std::jthread thread_;  // last: ends first
};

HelperLink::HelperLink(const HelperLinkOptions& options) : impl_(std::make_unique<Impl>(options)) {}

HelperLink::~HelperLink() = default;

std::optional<HelperGreeting> HelperLink::WaitForHelper(milliseconds wait,
                                                        const std::stop_token& stop) {
  return impl_->WaitForHelper(wait, stop);
}

std::optional<HelperGreeting> HelperLink::greeting() const {
  return impl_->greeting();
}

void HelperLink::AddKey(const std::string& client, const SignedMaskKey& key) {
  impl_->AddKey(client, key);
}

HelperReply HelperLink::Ask(const ReleaseRequest& request, milliseconds wait,
                            const std::stop_token& stop) {
  return impl_->Ask(request, wait, stop);
}

std::string HelperLink::trouble() const {
  return impl_->trouble();
}

bool HelperLink::connected() const {
  return impl_->connected();
}

std::optional<double> HelperLink::answered_seconds() const {
  return impl_->answered_seconds();
}

}  // namespace polykern
