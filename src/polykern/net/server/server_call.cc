#include <utility>
#include <variant>

#include "polykern/core/error.h"
#include "polykern/net/server/server_call_internal.h"

namespace polykern {

void ServerCall::Start(WebSocket::Socket socket, const TlsContext& tls,
                       const WebSocketOptions& options) {
  connection_ =
      std::make_shared<WebSocket>(loop_, std::move(socket), tls, options, shared_from_this());
  connection_->Start();
}

void ServerCall::End(const Ending& ending) {
  if (connection_ != nullptr) connection_->End(ending);
}

void ServerCall::TurnAway(const Busy& busy) {
  greeted_ = true;
  Send(std::make_shared<const std::string>(Encode(busy)));
  End({Ending::Kind::kBusy, busy.reason});
}

void ServerCall::EndSoon(const Ending& ending) {
  loop_.Post([self = shared_from_this(), ending] { self->End(ending); });
}

void ServerCall::DropSoon(const Ending& ending) {
  loop_.Post([self = shared_from_this(), ending] {
    if (self->connection_ != nullptr) self->connection_->Finish(ending);
  });
}

void ServerCall::Wake() {
  if (woken_.exchange(true)) return;
  loop_.Post([self = shared_from_this()] {
    self->woken_ = false;
    self->Pump();
  });
}

void ServerCall::Received(std::string message) {
  if (!begun_) return;
  traffic_.in += message.size();
  Handle(DecodeClientMessage(message));  // what it throws is a broken rule
}

void ServerCall::Handle(ClientMessage message) {
  if (const auto* hello = std::get_if<Hello>(&message)) {
    if (session_) throw Error("received a second hello on one connection");
    greeted_ = true;
    session_ = rounds_.Join(who.name, *hello, shared_from_this(), Now());
    if (certificate != nullptr) rounds_.NoteCertificate(*session_, who.serial, who.valid_until);
    Pump();
    return;
  }
  if (!session_) throw Error("received an update before the hello");
  if (const auto* report = std::get_if<ClientReport>(&message)) {
    rounds_.Note(*session_, *report);
  } else if (const auto* ranges = std::get_if<ClientRanges>(&message)) {
    rounds_.Receive(*session_, *ranges, Now());
  } else {
    rounds_.Receive(*session_, std::move(std::get<Updates>(message)), Now());
  }
}

void ServerCall::Broke(const std::string& why) {
  greeted_ = true;
  if (session_) {
    rounds_.Broken(*session_, why, Now());
  } else {
    if (who.good()) rounds_.Broken(who.name, why, Now());
    End({Ending::Kind::kBroken, why});
  }
}

void ServerCall::Closed(const Ending& ending) {
  if (session_) rounds_.Leave(*session_, Now());
  doorkeeper_.Closed(*this, ending);
  connection_.reset();
}

/// Sends what there is to send, one message at a time: never a queue.
void ServerCall::Pump() {
  if (connection_ == nullptr || !connection_->is_open() || connection_->is_sending() || !session_) {
    return;
  }
  const Outgoing next = rounds_.Take(*session_);
  if (next.message != nullptr) {
    Send(next.message);
  } else if (next.ending) {
    End(*next.ending);
  }
}

void ServerCall::Send(const std::shared_ptr<const std::string>& message) {
  traffic_.out += message->size();
  connection_->Send(message);
}

}  // namespace polykern
