#include "polykern/net/transport/frames.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "polykern/core/error.h"

namespace polykern {
namespace {

constexpr std::size_t kLongestControl = 125;
constexpr std::uint8_t kLast = 0x80;
constexpr std::uint8_t kReserved = 0x70;
constexpr std::uint8_t kMasked = 0x80;
constexpr std::uint8_t kTwoBytes = 126;    // the length follows in two bytes
constexpr std::uint8_t kEightBytes = 127;  // in eight

bool IsControl(Opcode opcode) {
  return opcode >= Opcode::kClose;
}

/// `offset`: of the first byte in its frame.
void ApplyMask(char* bytes, std::size_t count, std::array<char, 4> mask, std::size_t offset) {
  std::rotate(mask.begin(), mask.begin() + static_cast<std::ptrdiff_t>(offset % 4), mask.end());
  std::uint32_t four = 0;
  std::memcpy(&four, mask.data(), 4);
  const std::uint64_t eight = four | std::uint64_t{four} << 32;
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + i, 8);
    word ^= eight;
    std::memcpy(bytes + i, &word, 8);
  }
  for (; i < count; ++i) bytes[i] = static_cast<char>(bytes[i] ^ mask[i % 4]);
}

}  // namespace

std::optional<Frame> FrameReader::Next(std::string_view& bytes) {
  for (;;) {
    if (!in_payload_ && !TakeHeader(bytes)) return {};
    TakePayload(bytes);
    if (remaining_ > 0) return {};
    in_payload_ = false;
    if (IsControl(opcode_)) return Frame{opcode_, std::exchange(control_, {})};
    if (last_) {
      in_message_ = false;
      return Frame{Opcode::kBinary, std::exchange(message_, {})};
    }
  }
}

/// True once the header is whole and good.
bool FrameReader::TakeHeader(std::string_view& bytes) {
  while (header_bytes_ < HeaderSize()) {
    const std::size_t count = std::min(HeaderSize() - header_bytes_, bytes.size());
    if (count == 0) return false;
    std::memcpy(header_.data() + header_bytes_, bytes.data(), count);
    bytes.remove_prefix(count);
    header_bytes_ += count;
  }
  header_bytes_ = 0;
  BeginFrame();
  return true;
}

/// As far as it is known.
std::size_t FrameReader::HeaderSize() const {
  if (header_bytes_ < 2) return 2;
  const std::uint8_t length = header_[1] & ~kMasked;
  const std::size_t more = length == kTwoBytes ? 2 : length == kEightBytes ? 8 : 0;
  return 2 + more + ((header_[1] & kMasked) != 0 ? 4 : 0);
}

void FrameReader::BeginFrame() {
  if (allowed_ == 0) throw Error("too many frames at once");
  --allowed_;
  const bool masked = (header_[1] & kMasked) != 0;
  const std::uint8_t code = header_[0] & 0x0F;
  const std::uint8_t short_length = header_[1] & ~kMasked;
  if ((header_[0] & kReserved) != 0) throw Error("a frame with reserved bits");
  if (masked != (side_ == Side::kServer)) {
    throw Error(masked ? "a server's frame that is masked" : "a client's frame that is not masked");
  }
  if (code != 0 && code != 2 && (code < 8 || code > 10)) {
    throw Error("a frame of kind " + std::to_string(code) + "; only binary messages are taken");
  }
  opcode_ = static_cast<Opcode>(code);
  last_ = (header_[0] & kLast) != 0;
  std::uint64_t length = short_length;
  std::size_t next = 2;
  if (short_length >= kTwoBytes) {
    length = 0;
    for (const std::size_t end = short_length == kTwoBytes ? 4 : 10; next < end; ++next) {
      length = length << 8 | header_[next];
    }
  }
  if (masked) std::memcpy(mask_.data(), header_.data() + next, 4);
  if (!IsControl(opcode_)) {
    CheckData(length);
    in_message_ = true;
  } else if (!last_ || length > kLongestControl) {
    throw Error("a control frame that is too long, or in pieces");
  }
  remaining_ = length;
  masked_ = 0;
  in_payload_ = true;
}

void FrameReader::CheckData(std::uint64_t length) const {
  if ((opcode_ == Opcode::kContinuation) != in_message_) {
    throw Error(in_message_ ? "a message within another one" : "a fragment of no message");
  }
  if (length > longest_ - message_.size()) {
    throw Error("a message of more than " + std::to_string(longest_) + " bytes");
  }
}

void FrameReader::TakePayload(std::string_view& bytes) {
  const std::size_t count =
      static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, bytes.size()));
  std::string& into = IsControl(opcode_) ? control_ : message_;
  into.append(bytes.substr(0, count));
  bytes.remove_prefix(count);
  if (side_ == Side::kServer) {
    ApplyMask(into.data() + into.size() - count, count, mask_, masked_);
  }
  masked_ += count;
  remaining_ -= count;
}

std::string FrameHeader(Opcode opcode, std::size_t length) {
  std::string header(1, static_cast<char>(kLast | static_cast<std::uint8_t>(opcode)));
  const std::size_t more = length < kTwoBytes                                    ? 0
                           : length <= std::numeric_limits<std::uint16_t>::max() ? 2
                                                                                 : 8;
  header += static_cast<char>(more == 0 ? length : more == 2 ? kTwoBytes : kEightBytes);
  for (std::size_t i = more; i-- > 0;) {
    header += static_cast<char>(std::uint64_t{length} >> (8 * i) & 0xFF);
  }
  return header;
}

std::string MaskedFrame(Opcode opcode, std::string_view payload, std::array<char, 4> mask) {
  std::string frame = FrameHeader(opcode, payload.size());
  frame[1] = static_cast<char>(static_cast<std::uint8_t>(frame[1]) | kMasked);
  frame.append(mask.data(), mask.size());
  const std::size_t begin = frame.size();
  frame.append(payload);
  ApplyMask(frame.data() + begin, payload.size(), mask, 0);
  return frame;
}

std::string ClosePayload(const Ending& ending) {
  const std::uint16_t code = CloseCodeOf(ending.kind);
  std::string payload = {static_cast<char>(code >> 8), static_cast<char>(code & 0xFF)};
  std::size_t size = std::min(ending.reason.size(), kLongestControl - payload.size());
  // Not in the middle of a character.
  while (size > 0 && size < ending.reason.size() &&
         (static_cast<std::uint8_t>(ending.reason[size]) & 0xC0) == 0x80) {
    --size;
  }
  return payload + ending.reason.substr(0, size);
}

Ending ReadClose(std::string_view payload) {
  if (payload.empty()) return {Ending::Kind::kFinished, {}};
  if (payload.size() < 2) throw Error("a close frame of one byte");
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(payload[i]); };
  const auto code = static_cast<std::uint16_t>(byte(0) << 8 | byte(1));
  return {KindOf(code), std::string(payload.substr(2))};
}

}  // namespace polykern
