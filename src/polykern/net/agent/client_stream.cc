#include <limits>
#include <utility>

#include "polykern/net/agent/client_stream_internal.h"
#include "polykern/net/byte_buffer_internal.h"
#include "polykern/net/wire.h"

namespace polykern {

grpc::ChannelArguments ClientChannelArguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_MINIMAL_STACK, 1);  // what is not asked for is left out
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindowBytes);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // A connection for each: neither shared, nor delayed by gRPC's own back-off of another.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(std::numeric_limits<int>::max());
  return arguments;
}

std::shared_ptr<grpc::ChannelCredentials> TlsCredentials(const ClientIdentity& identity) {
  grpc::SslCredentialsOptions ssl;
  ssl.pem_root_certs = identity.authority;
  ssl.pem_private_key = identity.key;
  ssl.pem_cert_chain = identity.certificate;
  return grpc::SslCredentials(ssl);
}

ClientStream::ClientStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& name,
                           Handler& handler)
    : stub_(channel), handler_(handler) {
  if (!name.empty()) context_.AddMetadata(kNameHeader, name);
}

void ClientStream::Begin(std::string hello) {
  stub_.PrepareBidiStreamingCall(&context_, kJoinMethod, {}, this);
  AddHold();  // Send may write until nothing more can be read
  {
    const std::lock_guard lock(mutex_);
    open_ = true;
    waiting_ = std::move(hello);
    SendNext();
  }
  StartRead(&in_);
  StartCall();
}

void ClientStream::Send(std::string bytes) {
  const std::lock_guard lock(mutex_);
  if (!open_) return;
  waiting_ = std::move(bytes);
  SendNext();
}

void ClientStream::SendLowPriority(std::string bytes) {
  const std::lock_guard lock(mutex_);
  if (!open_) return;
  low_priority_ = std::move(bytes);
  SendNext();
}

void ClientStream::OnReadDone(bool ok) {
  if (ok && handler_.Received(TakeBytes(in_))) {
    StartRead(&in_);
    return;
  }
  if (ok) context_.TryCancel();
  const std::lock_guard lock(mutex_);
  open_ = false;
  RemoveHold();
}

void ClientStream::OnWriteDone(bool ok) {
  const std::lock_guard lock(mutex_);
  writing_ = false;
  if (ok) SendNext();
}

void ClientStream::SendNext() {
  auto& next = waiting_ ? waiting_ : low_priority_;
  if (!open_ || writing_ || !next) return;
  out_ = ShareBytes(std::make_shared<const std::string>(*std::exchange(next, {})));
  writing_ = true;
  StartWrite(&out_);
}

}  // namespace polykern
