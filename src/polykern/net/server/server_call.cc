#include <variant>

#include "polykern/core/error.h"
#include "polykern/net/byte_buffer_internal.h"
#include "polykern/net/server/server_call_internal.h"

namespace polykern {
namespace {

grpc::Status StatusOf(const Ending& ending) {
  using Kind = Ending::Kind;
  const auto code = [&] {
    switch (ending.kind) {
      case Kind::kRefused:
        return grpc::StatusCode::PERMISSION_DENIED;
      case Kind::kVersion:
        return grpc::StatusCode::FAILED_PRECONDITION;
      case Kind::kBusy:
        return grpc::StatusCode::RESOURCE_EXHAUSTED;
      case Kind::kReplaced:
        return grpc::StatusCode::ABORTED;
      case Kind::kBroken:
        return grpc::StatusCode::INVALID_ARGUMENT;
    }
    return grpc::StatusCode::UNKNOWN;
  };
  return {code(), ending.reason};
}

}  // namespace

void ServerCall::Hold(std::function<void()> done) {
  self_ = shared_from_this();
  done_ = std::move(done);
}

void ServerCall::Begin(std::function<void()> done) {
  Hold(std::move(done));
  StartRead(&in_);
}

void ServerCall::Refuse(const grpc::Status& status, std::function<void()> done) {
  Hold(std::move(done));
  End(status);
}

void ServerCall::TurnAway(const Busy& busy, std::function<void()> done) {
  Hold(std::move(done));
  const std::lock_guard lock(mutex_);
  ended_ = true;
  end_ = StatusOf({Ending::Kind::kBusy, busy.reason});
  Send(std::make_shared<const std::string>(Encode(busy)));
}

bool ServerCall::SilentSince(Rounds::Time time) const {
  const std::lock_guard lock(mutex_);
  return !session_ && !ended_ && began_ < time;
}

void ServerCall::End(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  EndLocked(status);
}

void ServerCall::Wake() {
  const std::lock_guard lock(mutex_);
  Pump();
}

void ServerCall::OnReadDone(bool ok) {
  if (!ok) {  // the client has gone, or has nothing more to say
    LeaveRounds();
    End(grpc::Status::OK);
    return;
  }
  traffic_.in += in_.Length();
  try {
    Handle(DecodeClientMessage(TakeBytes(in_)));
    StartRead(&in_);
  } catch (const Error& error) {
    Fail(error.what());
  }
}

void ServerCall::OnWriteDone(bool ok) {
  const std::lock_guard lock(mutex_);
  writing_ = false;
  if (end_) {
    Finish(*end_);
  } else if (ok) {
    Pump();
  }
}

void ServerCall::OnDone() {
  LeaveRounds();
  done_();
  const auto last = std::move(self_);
}

void ServerCall::Handle(ClientMessage message) {
  const auto known = session();
  if (const auto* hello = std::get_if<Hello>(&message)) {
    if (known) throw Error("a second hello came on one connection");
    const SessionId joined = rounds_.Join(who_.name, *hello, shared_from_this(), Now());
    const std::lock_guard lock(mutex_);
    session_ = joined;
    Pump();
    return;
  }
  if (!known) throw Error("an update came before the hello");
  if (const auto* report = std::get_if<ClientReport>(&message)) {
    rounds_.Note(*known, *report);
    return;
  }
  if (const auto* ranges = std::get_if<ClientRanges>(&message)) {
    rounds_.Receive(*known, *ranges, Now());
    return;
  }
  rounds_.Receive(*known, std::move(std::get<Updates>(message)), Now());
}

void ServerCall::Fail(const std::string& why) {
  if (const auto known = session()) {
    rounds_.Broken(*known, why, Now());
  } else {
    End(StatusOf({Ending::Kind::kBroken, why}));
  }
}

std::optional<SessionId> ServerCall::session() const {
  const std::lock_guard lock(mutex_);
  return session_;
}

void ServerCall::LeaveRounds() {
  if (const auto known = session()) rounds_.Leave(*known, Now());
}

/// Sends what there is to send, one message at a time: never a queue.
void ServerCall::Pump() {
  if (writing_ || ended_ || !session_) return;
  const Outgoing next = rounds_.Take(*session_);
  if (next.message != nullptr) {
    Send(next.message);
  } else if (next.ending) {
    EndLocked(StatusOf(*next.ending));
  }
}

void ServerCall::Send(const std::shared_ptr<const std::string>& message) {
  out_ = ShareBytes(message);
  traffic_.out += message->size();
  writing_ = true;
  StartWrite(&out_);
}

void ServerCall::EndLocked(const grpc::Status& status) {
  if (ended_) return;
  ended_ = true;
  if (writing_) {
    end_ = status;
  } else {
    Finish(status);
  }
}

}  // namespace polykern
