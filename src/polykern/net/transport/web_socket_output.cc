// What a WebSocket sends: one frame after the other, as far as the system takes them.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <openssl/rand.h>

#include "polykern/net/transport/web_socket.h"

namespace polykern {
namespace {

using Clock = Loop::Clock;
using TlsState = TlsSocket::State;

std::array<char, 4> NewMask() {
  std::array<char, 4> mask{};
  if (RAND_bytes(reinterpret_cast<unsigned char*>(mask.data()), 4) != 1) mask = {1, 2, 3, 4};
  return mask;
}

}  // namespace

/// Sends what there is to send, as far as there is room.
void WebSocket::Flush() {
  if (std::exchange(flushing_, true)) return;
  const std::shared_ptr<WebSocket> self = shared_from_this();
  while (state_ != State::kClosed && FlushOne()) {
  }
  flushing_ = false;
}

/// False: there is nothing more, or no room for it.
bool WebSocket::FlushOne() {
  const std::size_t body = out_body_ == nullptr ? 0 : out_body_->size();
  const std::size_t size = out_head_.size() + body;
  if (out_sent_ == size) {
    if (!PickOutput()) {
      if (finish_when_sent_) Finish(ending_);
      return false;
    }
    moved_ = Clock::now();
    return true;
  }
  // Head and body in one record.
  char* const buffer = loop_.write_buffer();
  const std::size_t of_head =
      out_sent_ < out_head_.size() ? out_head_.copy(buffer, Loop::kBufferBytes, out_sent_) : 0;
  const std::size_t begin = out_sent_ + of_head - out_head_.size();
  const std::size_t of_body = std::min(body - begin, Loop::kBufferBytes - of_head);
  if (of_body > 0) std::memcpy(buffer + of_head, out_body_->data() + begin, of_body);
  const Result result = tls_.Write(buffer, of_head + of_body);
  if (result.state != TlsState::kDone) {
    bool room = true;
    WaitFor(result, room);
    return false;
  }
  out_sent_ += result.bytes;
  moved_ = Clock::now();
  if (out_sent_ < size) return true;
  out_head_.clear();
  out_body_.reset();
  out_sent_ = 0;
  if (std::exchange(out_is_message_, false)) {
    sending_ = false;
    frames_.Allow(kFramesAtOnce);
    if (state_ == State::kOpen) handler_->Sent();
  }
  return true;
}

/// What is sent next; false: nothing.
bool WebSocket::PickOutput() {
  if (!raw_.empty()) {
    out_head_ = std::exchange(raw_, {});
  } else if (pong_) {
    SetOutput(Opcode::kPong, *std::exchange(pong_, {}));
  } else if (std::exchange(ping_due_, false)) {
    SetOutput(Opcode::kPing, "");
  } else if (message_ != nullptr) {
    out_is_message_ = true;
    const auto message = std::exchange(message_, nullptr);
    if (side_ == Side::kClient) {
      SetOutput(Opcode::kBinary, *message);
    } else {
      out_head_ = FrameHeader(Opcode::kBinary, message->size());
      out_body_ = message;
    }
  } else if (close_) {
    SetOutput(Opcode::kClose, ClosePayload(*std::exchange(close_, {})));
  } else {
    return false;
  }
  return true;
}

void WebSocket::SetOutput(Opcode opcode, std::string_view payload) {
  if (side_ == Side::kClient) {
    out_head_ = MaskedFrame(opcode, payload, NewMask());
  } else {
    out_head_ = FrameHeader(opcode, payload.size());
    out_head_ += payload;
  }
}

}  // namespace polykern
