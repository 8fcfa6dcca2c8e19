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

#include <sys/random.h>

#include "polykern/core/error.h"
#include "polykern/net/agent/client_stream_internal.h"
#include "polykern/net/pki/certificates.h"
#include "polykern/net/pki/client_identity.h"

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
  std::shared_ptr<grpc::ChannelCredentials> credentials;
};

LinkIdentity ReadLinkIdentity(const LinkOptions& options) {
  if (!options.insecure) {
    const ClientIdentity own = ReadClientIdentity(options.certificates, std::time(nullptr));
    return {own.certificate, TlsCredentials(own)};
  }
  if (!IsClientName(options.name)) {
    throw Error("without certificates a client needs a name of its own: give " +
                OptionName("name"));
  }
  return {"", grpc::InsecureChannelCredentials()};
}

/// May another certificate change its mind?
bool IsOfCertificate(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAUTHENTICATED ||
         status.error_code() == grpc::StatusCode::PERMISSION_DENIED;
}

/// What a server has against us that will not pass by itself, and what to do; empty: nothing.
std::string RefusalIn(const grpc::Status& status) {
  const std::string refusal = "the server refuses this agent: " + status.error_message();
  switch (status.error_code()) {
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::PERMISSION_DENIED:
      return refusal +
             "; it needs another certificate (polykern pki issue), or its name among the "
             "server's " +
             ShellSpelling("clients");
    case grpc::StatusCode::FAILED_PRECONDITION:  // it says what to do
      return refusal;
    case grpc::StatusCode::UNIMPLEMENTED:
      return refusal + "; is it a polykern server?";
    default:
      return {};
  }
}

class GrpcLink final : public AgentLink, private ClientStream::Handler {
 public:
  GrpcLink(const LinkOptions& options, AgentLink::Handler& handler)
      : options_(options), handler_(handler), identity_(ReadLinkIdentity(options)) {
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
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
    while (!stop.stop_requested()) {
      const std::string unread = ReadCertificates();
      const grpc::Status status = Connect(stop);
      if (stop.stop_requested()) return;
      const NextAttempt next = TellOfTheEnd(status, unread);
      // The server was there and only went away: come back soon, unless it sent us away.
      if (greeted_ && status.error_code() != grpc::StatusCode::ABORTED &&
          status.error_code() != grpc::StatusCode::INVALID_ARGUMENT) {
        wait = options_.first_wait;
      }
      milliseconds pause = RandomBetween(next.earliest, next.latest);
      if (next.refused) {
        pause = RandomBetween(options_.refused_wait / 2, options_.refused_wait);
      } else if (pause.count() == 0) {
        pause = RandomBetween(wait / 2, wait);
        wait = std::min(2 * wait, options_.longest_wait);
      }
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, pause, [] { return false; });
    }
  }

  /// `unread`: why the certificates could not be read before it.
  NextAttempt TellOfTheEnd(const grpc::Status& status, std::string unread) {
    std::string refusal = RefusalIn(status);
    if (IsOfCertificate(status)) {
      // The one that was shown may have been renewed since; then nobody has to do anything.
      const std::string shown = identity_.certificate;
      unread = ReadCertificates();
      if (identity_.certificate != shown) refusal.clear();
    }
    const std::string why = !refusal.empty() ? refusal
                            : status.ok()    ? "the server ended the connection"
                                             : status.error_message();
    return handler_.Lost(why + unread, !refusal.empty());
  }

  /// Certificates may have been renewed. Those from before stay in use if the files cannot be: then
  /// it says why, in brackets.
  std::string ReadCertificates() {
    try {
      identity_ = ReadLinkIdentity(options_);
      return {};
    } catch (const Error& error) {
      return std::string(" (") + error.what() + ")";
    }
  }

  /// One connection from beginning to end.
  grpc::Status Connect(const std::stop_token& stop) {
    grpc::ChannelArguments arguments = ClientChannelArguments();
    const int keepalive = static_cast<int>(options_.keepalive.count());
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    ClientStream stream(
        grpc::CreateCustomChannel(options_.server, identity_.credentials, arguments),
        options_.insecure ? options_.name : "", *this);
    {
      const std::lock_guard lock(mutex_);
      stream_ = &stream;
      status_.reset();
    }
    greeted_ = false;
    const std::stop_callback cancel(stop, [&stream] { stream.Cancel(); });
    stream.Begin(handler_.Greet());
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return status_.has_value(); });
    stream_ = nullptr;
    return *status_;
  }

  bool Received(std::string_view bytes) override {
    const bool good = handler_.Received(bytes);
    greeted_ |= good;
    return good;
  }
  void Ended(const grpc::Status& status) override {
    const std::lock_guard lock(mutex_);
    status_ = status;
    changed_.notify_all();
  }

  const LinkOptions options_;
  AgentLink::Handler& handler_;
  LinkIdentity identity_;  // the thread's alone, once it runs
  bool greeted_ = false;   // the stream's while it lives, then the thread's: was anything of use?
  std::mutex mutex_;       // for what follows
  std::condition_variable_any changed_;
  ClientStream* stream_ = nullptr;
  std::optional<grpc::Status> status_;  // of the stream that ended
  std::jthread thread_;                 // last: ends first
};

}  // namespace

std::unique_ptr<AgentLink> OpenAgentLink(const LinkOptions& options, AgentLink::Handler& handler) {
  return std::make_unique<GrpcLink>(options, handler);
}

}  // namespace polykern
