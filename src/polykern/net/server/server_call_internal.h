#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include "polykern/net/pki/admission.h"
#include "polykern/net/server/rounds.h"
#include "polykern/net/wire.h"

namespace polykern {

/// What the rounds are told.
inline Rounds::Time Now() {
  return std::chrono::steady_clock::now();
}

/// Bytes of all connections, ever.
struct TrafficCount {
  std::atomic<std::uint64_t> in{0};
  std::atomic<std::uint64_t> out{0};
};

/// One connection of one client, as FederationServer sees it. gRPC calls OnReadDone and
/// OnWriteDone, each one at a time; the rounds call Wake; any thread may call the rest.
class ServerCall final : public grpc::ServerGenericBidiReactor,
                         public Peer,
                         public std::enable_shared_from_this<ServerCall> {
 public:
  ServerCall(Rounds& rounds, TrafficCount& traffic, AdmissionResult who, std::string certificate)
      : rounds_(rounds),
        traffic_(traffic),
        who_(std::move(who)),
        certificate_(std::move(certificate)) {}

  const AdmissionResult& who() const { return who_; }
  const std::string& certificate() const { return certificate_; }

  // One of these begins it. It lives until OnDone, whoever else holds it, and calls `done` then.

  void Begin(std::function<void()> done);
  void Refuse(const grpc::Status& status, std::function<void()> done);
  /// The last message is when to come back.
  void TurnAway(const Busy& busy, std::function<void()> done);

  /// Has it said no hello, though it began before that time?
  bool SilentSince(Rounds::Time time) const;
  void End(const grpc::Status& status);

  void Wake() override;
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override;

 private:
  void Hold(std::function<void()> done);
  void Handle(ClientMessage message);
  void Fail(const std::string& why);
  std::optional<SessionId> session() const;
  void LeaveRounds();
  void Pump();
  void Send(const std::shared_ptr<const std::string>& message);
  void EndLocked(const grpc::Status& status);

  Rounds& rounds_;
  TrafficCount& traffic_;
  const AdmissionResult who_;
  const std::string certificate_;
  const Rounds::Time began_ = Now();
  std::function<void()> done_;
  std::shared_ptr<ServerCall> self_;
  grpc::ByteBuffer in_;  // the reader's alone

  mutable std::mutex mutex_;  // for all that follows; the rounds' own comes after it
  grpc::ByteBuffer out_;
  std::optional<SessionId> session_;
  bool writing_ = false;
  bool ended_ = false;
  std::optional<grpc::Status> end_;
};

}  // namespace polykern
