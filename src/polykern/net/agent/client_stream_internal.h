#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include "polykern/net/pki/client_identity.h"

namespace polykern {

/// What every client's channel is made with.
grpc::ChannelArguments ClientChannelArguments();
std::shared_ptr<grpc::ChannelCredentials> TlsCredentials(const ClientIdentity& identity);

/// One connection of a client to its server, from the hello to the end. Any thread may call
/// anything.
class ClientStream final : private grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  /// What is done with it. Called from gRPC's threads, one call at a time.
  class Handler {
   public:
    virtual ~Handler() = default;
    /// A message came. False: the connection is of no use, and ends.
    virtual bool Received(std::string_view bytes) = 0;
    /// The last call: the stream may be destroyed from now on.
    virtual void Ended(const grpc::Status& status) = 0;
  };

  /// `name`: who this is, for a server that asks for no certificate; empty: the certificate says
  /// it.
  ClientStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& name,
               Handler& handler);

  /// Call it once; Ended will be called, whatever happens.
  void Begin(std::string hello);
  /// What waits to be sent is replaced; dropped before Begin and once the connection has ended.
  void Send(std::string bytes);
  /// Likewise, for what matters less: it goes when nothing else waits.
  void SendLowPriority(std::string bytes);
  void Cancel() { context_.TryCancel(); }

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override { handler_.Ended(status); }
  void SendNext();

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  Handler& handler_;
  grpc::ByteBuffer in_;  // the reader's alone

  std::mutex mutex_;  // for all that follows
  grpc::ByteBuffer out_;
  std::optional<std::string> waiting_;
  std::optional<std::string> low_priority_;
  bool writing_ = false;
  bool open_ = false;  // from Begin until nothing more can be read
};

}  // namespace polykern
