#include "polykern/net/server/server.h"

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include "polykern/core/error.h"
#include "polykern/io/files.h"
#include "polykern/net/address.h"
#include "polykern/net/byte_buffer_internal.h"
#include "polykern/net/pki/admission.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/pki/certificates.h"
#include "polykern/net/server/server_call_internal.h"

namespace polykern {
namespace {

constexpr std::chrono::milliseconds kTick{20};
constexpr std::chrono::seconds kLook{1};             // at calls that say nothing, and revocations
constexpr std::chrono::seconds kCheckEverybody{60};  // certificates expire, too
constexpr std::chrono::seconds kGoodbye{2};

bool IsLoopback(const std::string& listen) {
  const std::string host = listen.substr(0, listen.rfind(':'));
  const bool number = host.find_first_not_of("0123456789.") == std::string::npos;
  return host == "localhost" || host == "[::1]" || (number && host.starts_with("127."));
}

std::shared_ptr<grpc::ServerCredentials> Credentials(const AuthorityPaths& paths) {
  const KeyPair server{ReadWholeFile(paths.server_certificate), ReadWholeFile(paths.server_key)};
  CheckKeyPair(server, paths.server_certificate);
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = ReadWholeFile(paths.certificate);
  options.pem_key_cert_pairs.push_back({server.key, server.certificate});
  return grpc::SslServerCredentials(options);
}

std::string Text(grpc::string_ref text) {
  return {text.data(), text.size()};
}

}  // namespace

void CheckListen(const ServerOptions& options) {
  if (!HasPort(options.listen)) {
    throw Error(OptionName("listen", options.listen) +
                ": not of the form HOST:PORT, port 0 to 65535");
  }
  if (options.insecure && !options.insecure_anywhere && !IsLoopback(options.listen)) {
    throw Error(OptionName("insecure") + " listens on the loopback only, not on " + options.listen +
                "; use certificates (polykern pki init), or listen on 127.0.0.1");
  }
}

class FederationServer::Impl final : public grpc::CallbackGenericService {
 public:
  Impl(const ServerOptions& options, const ModelShape& shape, Rounds& rounds)
      : options_(options), rounds_(rounds) {
    CheckListen(options);
    std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
    if (!options.insecure) {
      CheckAuthority(options.certificates);
      const AuthorityPaths paths(options.certificates);
      admission_.emplace(paths.certificate, paths.revocations);
      credentials = Credentials(paths);
    }
    const auto milliseconds = [](auto time) { return static_cast<int>(time.count()); };
    TrustGrpcsLocks();
    grpc::ServerBuilder builder;
    builder.RegisterCallbackGenericService(this);
    const std::size_t longest = std::max(LongestClientMessage(shape), rounds.longest_ranges());
    builder.SetMaxReceiveMessageSize(static_cast<int>(longest));
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds(options.keepalive));
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, milliseconds(options.keepalive));
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    // Who connects and then wants nothing makes room.
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, milliseconds(options.hello_time));
    // Nobody compresses, and nothing shall be unpacked here.
    builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
    builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    int port = 0;
    builder.AddListeningPort(options.listen, credentials, &port);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port == 0) {
      throw Error("cannot listen on " + options.listen +
                  "; is the address right, and the port free?");
    }
    address_ = options.listen.substr(0, options.listen.rfind(':')) + ":" + std::to_string(port);
    writer_ = std::jthread([this](const std::stop_token& stop) {
      while (rounds_.WaitForWork(stop, kTick)) rounds_.Commit(Now());
    });
    watcher_ = std::jthread([this](const std::stop_token& stop) { Watch(stop); });
  }

  ~Impl() override {
    watcher_.request_stop();
    watcher_.join();
    for (const auto& call : Calls()) {
      call->End({grpc::StatusCode::UNAVAILABLE, "the server stops"});
    }
    server_->Shutdown(std::chrono::system_clock::now() + kGoodbye);
    server_->Wait();
    {
      std::unique_lock lock(mutex_);
      gone_.wait(lock, [this] { return calls_.empty(); });
    }
    writer_.request_stop();
    writer_.join();
    rounds_.Commit(Now());  // what came last
  }

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    std::string certificate;
    AdmissionResult who = WhoIs(*context, certificate);
    const auto call =
        std::make_shared<ServerCall>(rounds_, traffic_, std::move(who), std::move(certificate));
    std::list<std::shared_ptr<ServerCall>>::iterator place;
    const char* crowded = nullptr;
    bool told = false;  // so often that it does not listen
    {
      const std::lock_guard lock(mutex_);
      std::size_t& own = calls_of_[call->who().name];
      if (calls_.size() >= options_.most_connections) crowded = "the server has no room";
      if (own >= options_.most_of_one) crowded = "this client has too many connections";
      told = own >= 2 * options_.most_of_one;
      ++own;
      place = calls_.insert(calls_.end(), call);
    }
    const auto done = [this, place] {
      const std::lock_guard lock(mutex_);
      const auto own = calls_of_.find((*place)->who().name);
      if (--own->second == 0) calls_of_.erase(own);
      calls_.erase(place);
      if (calls_.empty()) gone_.notify_all();
    };
    if (context->method() != kJoinMethod) {
      call->Refuse({grpc::StatusCode::UNIMPLEMENTED, "there is no " + context->method()}, done);
    } else if (!call->who().good()) {
      rounds_.Refused("certificate " + call->who().serial, call->who().reason);
      call->Refuse({grpc::StatusCode::UNAUTHENTICATED, call->who().reason}, done);
    } else if (told) {
      call->Refuse({grpc::StatusCode::RESOURCE_EXHAUSTED, crowded}, done);
    } else if (crowded != nullptr) {
      call->TurnAway(rounds_.options().RetryWindow(crowded), done);
    } else {
      call->Begin(done);
    }
    return call.get();
  }

  const std::string& address() const { return address_; }
  ServerTraffic traffic() const { return {traffic_.in, traffic_.out}; }
  std::string trouble() const { return admission_ ? admission_->trouble() : std::string(); }

 private:
  AdmissionResult WhoIs(const grpc::GenericCallbackServerContext& context,
                        std::string& certificate) {
    if (!admission_) {
      const auto& metadata = context.client_metadata();
      const auto name = metadata.find(kNameHeader);
      if (name != metadata.end() && IsClientName(Text(name->second))) {
        return {Text(name->second), "", ""};
      }
      return {"", "", std::string("a client must say its name in ") + kNameHeader};
    }
    const auto shown = context.auth_context()->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
    if (!shown.empty()) certificate = Text(shown.front());
    return admission_->Check(certificate);
  }

  /// What has to be done from time to time.
  void Watch(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wait;
    auto checked = Now();
    for (;;) {
      std::unique_lock lock(mutex);
      if (wait.wait_for(lock, stop, kLook, [] { return false; }) || stop.stop_requested()) return;
      const auto now = Now();
      for (const auto& call : Calls()) {
        if (call->SilentSince(now - options_.hello_time)) {
          call->End({grpc::StatusCode::DEADLINE_EXCEEDED, "no hello came"});
        }
      }
      if (!admission_ || (!admission_->Refresh() && now - checked < kCheckEverybody)) continue;
      checked = now;
      for (const auto& call : Calls()) {
        const AdmissionResult result = admission_->Check(call->certificate());
        if (result.good()) continue;
        rounds_.Expel(call->who().name, result.reason, now);
        call->End({grpc::StatusCode::PERMISSION_DENIED, result.reason});
      }
    }
  }

  std::vector<std::shared_ptr<ServerCall>> Calls() {
    const std::lock_guard lock(mutex_);
    return {calls_.begin(), calls_.end()};
  }

  const ServerOptions options_;
  Rounds& rounds_;
  TrafficCount traffic_;
  std::optional<Admission> admission_;
  std::string address_;
  std::mutex mutex_;  // for the calls
  std::condition_variable gone_;
  std::list<std::shared_ptr<ServerCall>> calls_;
  std::unordered_map<std::string, std::size_t> calls_of_;  // by name
  std::unique_ptr<grpc::Server> server_;
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

ServerTraffic FederationServer::traffic() const {
  return impl_->traffic();
}

std::string FederationServer::trouble() const {
  return impl_->trouble();
}

}  // namespace polykern
