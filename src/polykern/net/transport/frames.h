#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "polykern/net/ending.h"

namespace polykern {

/// WebSocket frames (RFC 6455, section 5) from bytes and to bytes: binary messages, and the control
/// frames ping, pong and close. No compression, no text. Nothing here knows a socket.

enum class Opcode : std::uint8_t {
  kContinuation = 0,
  kBinary = 2,
  kClose = 8,
  kPing = 9,
  kPong = 10
};

/// Which side of a connection we are. Clients mask what they send, servers do not.
enum class Side { kServer, kClient };

/// A whole message, put together from its fragments, or a control frame.
struct Frame {
  Opcode opcode = Opcode::kBinary;
  std::string payload = {};
};

/// Reads what the other side sends. A length is checked when the frame's header has come, before
/// anything is kept of its payload; between messages nothing is kept at all. One thread at a time.
class FrameReader {
 public:
  FrameReader(Side side, std::size_t longest_message) : side_(side), longest_(longest_message) {}

  /// The next frame whose last byte has come; takes what it reads off the front of `bytes`.
  /// Nothing: all bytes are read. Throws Error if they break a rule: then nothing more can be read.
  std::optional<Frame> Next(std::string_view& bytes);

  /// So many frames may begin from now on, whether they are whole messages, fragments or control
  /// frames: each costs work, however small it is.
  void Allow(std::size_t frames) { allowed_ = frames; }

 private:
  bool TakeHeader(std::string_view& bytes);
  std::size_t HeaderSize() const;
  void BeginFrame();
  void CheckData(std::uint64_t length) const;
  void TakePayload(std::string_view& bytes);

  const Side side_;
  const std::size_t longest_;
  std::size_t allowed_ = 64;
  std::array<std::uint8_t, 14> header_{};
  std::size_t header_bytes_ = 0;  // of it that have come
  Opcode opcode_ = Opcode::kBinary;
  bool last_ = true;             // fragment of its message
  std::uint64_t remaining_ = 0;  // of the payload
  std::array<char, 4> mask_{};
  std::size_t masked_ = 0;  // bytes of the frame's payload that are behind us
  bool in_payload_ = false;
  bool in_message_ = false;  // fragments are to follow
  std::string message_;
  std::string control_;
};

/// What goes before a payload of this length that a server sends: one frame, not masked.
std::string FrameHeader(Opcode opcode, std::size_t length);
/// A client's frame.
std::string MaskedFrame(Opcode opcode, std::string_view payload, std::array<char, 4> mask);

/// A close frame's payload. Reasons are cut to what fits.
std::string ClosePayload(const Ending& ending);
/// What one says. Throws Error if it is none.
Ending ReadClose(std::string_view payload);

}  // namespace polykern
