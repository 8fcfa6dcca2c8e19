#include "polykern/net/agent/agent_link.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <sys/random.h>

#include "polykern/core/error.h"
#include "polykern/net/address.h"
#include "polykern/net/ending.h"
#include "polykern/net/pki/certificates.h"
#include "polykern/net/pki/client_identity.h"
#include "polykern/net/transport/client_stream.h"
#include "polykern/net/transport/loop.h"
#include "polykern/net/transport/tls.h"

namespace polykern {
namespace {

using std::chrono::milliseconds;

/// As no other agent: agents must not come back all at once.
milliseconds RandomBetween(milliseconds earliest, milliseconds latest) {
  std::uint32_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != sizeof bits) bits = 0;
  const auto width = static_cast<std::uint64_t>(std::max(latest, earliest).count()) -
                     static_cast<std::uint64_t>(earliest.count());
  return earliest + milliseconds(bits * width / (1ULL << 32));
}

/// What connections are made with.
struct LinkIdentity {
  std::string certificate;  // insecure: none
  TlsContext tls;
};

LinkIdentity ReadLinkIdentity(const LinkOptions& options) {
  if (!options.insecure) {
    const ClientIdentity own = ReadClientIdentity(options.certificates, std::time(nullptr));
    return {own.certificate, MakeClientTls(own)};
  }
  if (!IsClientName(options.name)) {
    throw Error("without certificates a client needs a name of its own: give " +
                OptionName("name"));
  }
  return {};
}

/// Why a server refuses us, if that needs an operator, and what to do; empty: nothing.
std::string RefusalIn(const Ending& ending) {
  const std::string refusal = "the server refuses this agent: " + ending.reason;
  switch (ending.kind) {
    case Ending::Kind::kRefused:
      return refusal +
             "; it needs another certificate (polykern pki issue), or its name among the "
             "server's " +
             OptionName("clients");
    case Ending::Kind::kVersion:  // it says what to do
      return refusal;
    case Ending::Kind::kNotOurs:
      return refusal + "; is it a polykern server?";
    default:
      return {};
  }
}

class SocketLink final : public AgentLink, private ClientStream::Handler {
 public:
  SocketLink(const LinkOptions& options, AgentLink::Handler& handler)
      : options_(options),
        handler_(handler),
        servers_(ServersIn(options.server)),
        server_(static_cast<std::size_t>(
            RandomBetween(milliseconds(0), milliseconds(servers_.size())).count())),
        identity_(ReadLinkIdentity(options)) {
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  }

  void Retry() override {
    const std::lock_guard lock(mutex_);
    retry_ = true;
    changed_.notify_all();
  }
  void Send(std::string bytes) override {
    const std::lock_guard lock(mutex_);
    if (stream_ != nullptr) stream_->Send(std::move(bytes));
  }
  void SendLowPriority(std::string bytes) override {
    const std::lock_guard lock(mutex_);
    if (stream_ != nullptr) stream_->SendLowPriority(std::move(bytes));
  }

 private:
  void Run(const std::stop_token& stop) {
    milliseconds wait = options_.first_wait;
    std::size_t away = 0;  // servers in a row, each another one
    while (!stop.stop_requested()) {
      const std::string unread = ReadCertificates();
      const Ending ending = Connect(stop);
      if (stop.stop_requested()) return;
      const NextAttempt next = TellOfTheEnd(ending, unread);
      // The server was there and only went away: come back soon, unless it sent us away.
      if (greeted_ && ending.kind != Ending::Kind::kReplaced &&
          ending.kind != Ending::Kind::kBroken) {
        wait = options_.first_wait;
      }
      server_ = (server_ + 1) % servers_.size();
      away = greeted_ ? 0 : away + 1;
      if (!next.refused && away > 0 && away < servers_.size()) continue;
      away = 0;
      milliseconds pause = RandomBetween(next.earliest, next.latest);
      if (next.refused) {
        pause = RandomBetween(options_.refused_wait / 2, options_.refused_wait);
      } else if (pause.count() == 0) {
        pause = RandomBetween(wait / 2, wait);
        wait = std::min(2 * wait, options_.longest_wait);
      }
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, pause, [this] { return retry_; });
      retry_ = false;
    }
  }

  /// `unread`: why the certificates could not be read before it.
  NextAttempt TellOfTheEnd(const Ending& ending, std::string unread) {
    std::string refusal = RefusalIn(ending);
    if (ending.kind == Ending::Kind::kRefused) {
      // The one that was shown may have been renewed since; then nothing needs to be done.
      const std::string shown = identity_.certificate;
      unread = ReadCertificates();
      if (identity_.certificate != shown) refusal.clear();
    }
    const std::string why = !refusal.empty()        ? refusal
                            : ending.reason.empty() ? "the server ended the connection"
                                                    : ending.reason;
    return handler_.Lost(why + unread, !refusal.empty());
  }

  /// Certificates may have been renewed. Those from before stay in use if the files cannot be: then
  /// it says why, in brackets.
  std::string ReadCertificates() {
    try {
      identity_ = ReadLinkIdentity(options_);
      return {};
    } catch (const Error& error) {
      return " (" + error.marked() + ")";
    }
  }

  /// One connection from beginning to end.
  Ending Connect(const std::stop_token& stop) {
    ClientStream stream(loop_,
                        {.server = servers_[server_],
                         .tls = identity_.tls,
                         .name = options_.insecure ? options_.name : "",
                         .keepalive = options_.keepalive},
                        *this);
    {
      const std::lock_guard lock(mutex_);
      stream_ = &stream;
      ending_.reset();
    }
    greeted_ = false;
    const std::stop_callback cancel(stop, [&stream] { stream.Cancel(); });
    stream.Begin(handler_.Greet());
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ending_.has_value(); });
    stream_ = nullptr;
    return *ending_;
  }

  bool Received(std::string_view bytes) override {
    const bool good = handler_.Received(bytes);
    greeted_ |= good;
    return good;
  }
  void Ended(const Ending& ending) override {
    const std::lock_guard lock(mutex_);
    ending_ = ending;
    changed_.notify_all();
  }

  const LinkOptions options_;
  AgentLink::Handler& handler_;
  const std::vector<std::string> servers_;
  std::size_t server_;  // the thread's alone, once it runs, as what follows: which of them
  LinkIdentity identity_;
  bool greeted_ = false;  // the stream's while it lives, then the thread's: was anything of use?
  std::mutex mutex_;      // for what follows
  std::condition_variable_any changed_;
  ClientStream* stream_ = nullptr;
  std::optional<Ending> ending_;  // of the stream that ended
  bool retry_ = false;
  Loop loop_;
  std::jthread thread_;  // last: ends first
};

}  // namespace

std::unique_ptr<AgentLink> OpenAgentLink(const LinkOptions& options, AgentLink::Handler& handler) {
  return std::make_unique<SocketLink>(options, handler);
}

}  // namespace polykern
