#include "polykern/net/agent/agent_link.h"

#include <algorithm>
#include <condition_variable>
#include <ctime>
#include <filesystem>
#include <limits>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <sys/random.h>

#include "polykern/core/error.h"
#include "polykern/io/private_files.h"
#include "polykern/net/byte_buffer_internal.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/pki/certificates.h"
#include "polykern/net/wire.h"

namespace polykern {
namespace {

using std::chrono::milliseconds;

/// Between half of it and all, as no other agent: agents must not come back all at once.
milliseconds AtRandom(milliseconds wait) {
  std::uint32_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != sizeof bits) bits = 0x80000000;
  const double share = 0.5 + 0.5 * static_cast<double>(bits) / 0x1p32;
  return milliseconds(static_cast<std::int64_t>(static_cast<double>(wait.count()) * share));
}

/// One connection, from its hello to its end. gRPC calls the On-functions.
class Stream final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Stream(grpc::GenericStub& stub, grpc::ClientContext& context, AgentLink::Handler& handler)
      : context_(context), handler_(handler) {
    stub.PrepareBidiStreamingCall(&context, kJoinMethod, {}, this);
  }

  void Begin(std::string hello) {
    AddHold();  // Send may write until nothing more can be read
    Send(std::move(hello));
    StartRead(&in_);
    StartCall();
  }

  void Send(std::string bytes) {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    waiting_ = std::move(bytes);
    Pump();
  }

  void SendAside(std::string bytes) {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    aside_ = std::move(bytes);
    Pump();
  }

  grpc::Status Wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return status_.has_value(); });
    return *status_;
  }

  /// After Wait: has anything been read that was of use?
  bool greeted() const { return greeted_; }

  void OnReadDone(bool ok) override {
    const bool good = ok && handler_.Received(TakeBytes(in_));
    greeted_ |= good;
    if (good) {
      StartRead(&in_);
      return;
    }
    if (ok) context_.TryCancel();
    const std::lock_guard lock(mutex_);
    closed_ = true;
    RemoveHold();
  }
  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (ok && !closed_) Pump();
  }
  void OnDone(const grpc::Status& status) override {
    const std::lock_guard lock(mutex_);
    status_ = status;
    done_.notify_all();
  }

 private:
  void Pump() {
    auto& next = waiting_ ? waiting_ : aside_;
    if (writing_ || !next) return;
    out_ = ShareBytes(std::make_shared<const std::string>(*std::exchange(next, {})));
    writing_ = true;
    StartWrite(&out_);
  }

  grpc::ClientContext& context_;
  AgentLink::Handler& handler_;
  grpc::ByteBuffer in_;
  bool greeted_ = false;

  std::mutex mutex_;  // for all that follows
  std::condition_variable done_;
  grpc::ByteBuffer out_;
  std::optional<std::string> waiting_;
  std::optional<std::string> aside_;
  bool writing_ = false;
  bool closed_ = false;
  std::optional<grpc::Status> status_;
};

/// What connections are made with.
struct Identity {
  std::string certificate;  // insecure: none
  std::shared_ptr<grpc::ChannelCredentials> credentials;
};

Identity ReadIdentity(const LinkOptions& options) {
  if (options.insecure) {
    if (!IsClientName(options.name)) {
      throw Error("without certificates a client needs a name of its own: give " +
                  OptionName("name"));
    }
    return {"", grpc::InsecureChannelCredentials()};
  }
  const std::filesystem::path folder(options.certificates);
  const std::string path = (folder / "client.crt").string();
  if (std::error_code none; !std::filesystem::exists(path, none)) {
    throw Error(path + ": there is no such file; make it with: polykern pki issue NAME (its " +
                "folder is pki/clients/NAME)");
  }
  const KeyPair own{ReadWholeFile(path), ReadWholeFile((folder / "client.key").string())};
  CheckKeyPair(own, path);
  const CertificateFacts facts = ReadCertificate(own.certificate, path);
  if (facts.valid.until <= std::time(nullptr)) {
    throw Error(path + ": expired on " + DateText(facts.valid.until) +
                "; get a new one with `polykern pki issue " + facts.name + " " +
                ShellSpelling("renew") + "`");
  }
  grpc::SslCredentialsOptions ssl;
  ssl.pem_root_certs = ReadWholeFile((folder / "ca.crt").string());
  ssl.pem_private_key = own.key;
  ssl.pem_cert_chain = own.certificate;
  return {own.certificate, grpc::SslCredentials(ssl)};
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

}  // namespace

class AgentLink::Parts {
 public:
  Parts(const LinkOptions& options, Handler& handler)
      : options_(options), handler_(handler), identity_(ReadIdentity(options)) {
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  }

  void Send(std::string bytes) {
    const std::lock_guard lock(mutex_);
    if (stream_ != nullptr) stream_->Send(std::move(bytes));
  }
  void SendAside(std::string bytes) {
    const std::lock_guard lock(mutex_);
    if (stream_ != nullptr) stream_->SendAside(std::move(bytes));
  }

 private:
  void Run(const std::stop_token& stop) {
    milliseconds wait = options_.first_wait;
    while (!stop.stop_requested()) {
      bool greeted = false;
      std::string unread = ReadCertificates();
      const grpc::Status status = Connect(stop, greeted);
      if (stop.stop_requested()) return;
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
      const bool refused = handler_.Lost(why + unread, !refusal.empty());
      // The server was there and only went away: come back soon, unless it sent us away.
      if (greeted && status.error_code() != grpc::StatusCode::ABORTED &&
          status.error_code() != grpc::StatusCode::INVALID_ARGUMENT) {
        wait = options_.first_wait;
      }
      milliseconds now = handler_.Wait();
      if (refused) {
        now = AtRandom(options_.refused_wait);
      } else if (now.count() == 0) {
        now = AtRandom(wait);
        wait = std::min(2 * wait, options_.longest_wait);
      }
      std::unique_lock lock(mutex_);
      pause_.wait_for(lock, stop, now, [] { return false; });
    }
  }

  /// Certificates may have been renewed. Those from before stay in use if the files cannot be: then
  /// it says why, in brackets.
  std::string ReadCertificates() {
    try {
      identity_ = ReadIdentity(options_);
      return {};
    } catch (const Error& error) {
      return std::string(" (") + error.what() + ")";
    }
  }

  /// One connection from beginning to end; has the server said anything of use?
  grpc::Status Connect(const std::stop_token& stop, bool& greeted) {
    grpc::ChannelArguments arguments;
    const int keepalive = static_cast<int>(options_.keepalive.count());
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    arguments.SetInt(GRPC_ARG_MINIMAL_STACK, 1);  // what is not asked for is left out
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindowBytes);
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    // gRPC's own back-off, which attempts would share, stays out of ours.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxReceiveMessageSize(std::numeric_limits<int>::max());
    grpc::GenericStub stub(
        grpc::CreateCustomChannel(options_.server, identity_.credentials, arguments));
    grpc::ClientContext context;
    if (options_.insecure) context.AddMetadata(kNameHeader, options_.name);
    Stream stream(stub, context, handler_);
    {
      const std::lock_guard lock(mutex_);
      stream_ = &stream;
    }
    const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
    stream.Begin(handler_.Greet());
    const grpc::Status status = stream.Wait();
    greeted = stream.greeted();
    const std::lock_guard lock(mutex_);
    stream_ = nullptr;
    return status;
  }

  const LinkOptions options_;
  Handler& handler_;
  Identity identity_;  // the thread's alone, once it runs
  std::mutex mutex_;   // for what follows
  std::condition_variable_any pause_;
  Stream* stream_ = nullptr;
  std::jthread thread_;
};

AgentLink::AgentLink(const LinkOptions& options, Handler& handler)
    : parts_(std::make_unique<Parts>(options, handler)) {}

AgentLink::~AgentLink() = default;

void AgentLink::Send(std::string bytes) {
  parts_->Send(std::move(bytes));
}

void AgentLink::SendAside(std::string bytes) {
  parts_->SendAside(std::move(bytes));
}

}  // namespace polykern
