// FrameReader beside a reader that is slow and obvious, on streams that are good, damaged and cut.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/core/random.h"
#include "polykern/net/transport/frames.h"

namespace polykern {
namespace {

constexpr std::size_t kLongest = 3000;

/// What a stream says: its frames, and what is wrong with the rest.
struct Reading {
  std::vector<Frame> frames = {};
  std::string error = {};
};

/// A frame as RFC 6455 draws it (section 5.2), its payload as it was before it was masked.
struct DrawnFrame {
  unsigned code = 0;
  bool last = false, reserved = false, masked = false;
  std::uint64_t length = 0;
  std::string payload = {};  // as much of it as has come
};

/// At this place of a stream; none: its header is not whole. Moves the place behind the frame.
std::optional<DrawnFrame> Draw(std::string_view bytes, std::size_t& at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint64_t>(static_cast<std::uint8_t>(bytes[at + i]));
  };
  const std::size_t left = bytes.size() - at;
  if (left < 2) return {};
  DrawnFrame frame{.code = static_cast<unsigned>(byte(0) & 15),
                   .last = (byte(0) & 128) != 0,
                   .reserved = (byte(0) & 112) != 0,
                   .masked = (byte(1) & 128) != 0,
                   .length = byte(1) & 127};
  const std::size_t more = frame.length == 126 ? 2 : frame.length == 127 ? 8 : 0;
  const std::size_t header = 2 + more + (frame.masked ? 4 : 0);
  if (left < header) return {};
  if (more > 0) frame.length = 0;
  for (std::size_t i = 0; i < more; ++i) frame.length = frame.length * 256 + byte(2 + i);
  const std::uint64_t come = std::min<std::uint64_t>(frame.length, left - header);
  for (std::uint64_t i = 0; i < come; ++i) {
    const std::uint64_t mask = frame.masked ? byte(2 + more + i % 4) : 0;
    frame.payload += static_cast<char>(byte(header + i) ^ mask);
  }
  at += header + come;
  return frame;
}

/// Why a frame may not come now; empty: it may.
std::string Complaint(const DrawnFrame& frame, Side side, bool in_message, std::size_t before) {
  if (frame.reserved) return "a frame with reserved bits";
  if (side == Side::kServer && !frame.masked) return "a client's frame that is not masked";
  if (side == Side::kClient && frame.masked) return "a server's frame that is masked";
  const bool control = frame.code >= 8 && frame.code <= 10;
  if (!control && frame.code != 0 && frame.code != 2) {
    return "a frame of kind " + std::to_string(frame.code) + "; only binary messages are taken";
  }
  if (control) {
    return frame.last && frame.length <= 125 ? ""
                                             : "a control frame that is too long, or in pieces";
  }
  if (in_message && frame.code == 2) return "a message within another one";
  if (!in_message && frame.code == 0) return "a fragment of no message";
  if (frame.length > kLongest || before + frame.length > kLongest) {
    return "a message of more than " + std::to_string(kLongest) + " bytes";
  }
  return "";
}

Reading ReadSlowly(std::string_view bytes, Side side) {
  Reading reading;
  std::optional<std::string> message;
  std::size_t at = 0;
  while (const auto frame = Draw(bytes, at)) {
    reading.error = Complaint(*frame, side, message.has_value(), message ? message->size() : 0);
    if (!reading.error.empty()) return reading;
    if (frame->payload.size() < frame->length) return reading;  // the rest is to come
    if (frame->code >= 8) {
      reading.frames.push_back({static_cast<Opcode>(frame->code), frame->payload});
      continue;
    }
    message = message.value_or("") + frame->payload;
    if (!frame->last) continue;
    reading.frames.push_back({Opcode::kBinary, *message});
    message.reset();
  }
  return reading;
}

/// In pieces of random sizes.
Reading ReadInPieces(std::string_view bytes, Side side, Random& random) {
  Reading reading;
  FrameReader reader(side, kLongest);
  reader.Allow(1'000'000);
  const std::size_t most = std::array<std::size_t, 4>{1, 3, 100, 100'000}[random.Below(4)];
  try {
    while (!bytes.empty()) {
      std::string_view piece = bytes.substr(0, 1 + random.Below(most));
      bytes.remove_prefix(piece.size());
      while (auto frame = reader.Next(piece)) reading.frames.push_back(*std::move(frame));
    }
  } catch (const Error& error) {
    reading.error = error.what();
  }
  return reading;
}

class Streams {
 public:
  Streams(std::uint64_t seed, Side side) : random_(seed, Purpose::kTest), side_(side) {}

  /// Messages, in one frame or several, with control frames anywhere.
  std::string Good() {
    std::string stream;
    for (std::uint64_t n = random_.Below(8); n > 0; --n) {
      const std::uint64_t fragments = 1 + random_.Below(4);
      for (std::uint64_t k = 0; k < fragments; ++k) {
        if (random_.Below(3) == 0) {
          constexpr std::array kControls = {Opcode::kPing, Opcode::kPong, Opcode::kClose};
          stream += Encoded(kControls[random_.Below(3)], Payload(126));
        }
        std::string frame = Encoded(k == 0 ? Opcode::kBinary : Opcode::kContinuation,
                                    Payload(random_.Below(5) == 0 ? kLongest / 4 + 1 : 40));
        if (k + 1 < fragments) frame[0] = static_cast<char>(frame[0] & 0x7f);
        stream += frame;
      }
    }
    return stream;
  }
  /// Some bytes are others, or are missing.
  std::string Damaged() {
    std::string stream = Good();
    for (std::uint64_t n = random_.Below(4); n > 0 && !stream.empty(); --n) {
      const std::size_t at = random_.Below(stream.size());
      if (random_.Below(4) == 0) {
        stream.erase(at, 1 + random_.Below(10));
      } else {
        stream[at] = static_cast<char>(random_.Below(256));
      }
    }
    return stream.substr(0, stream.size() - random_.Below(stream.size() / 4 + 1));
  }
  std::string Garbage() { return Payload(300); }
  Random& random() { return random_; }

 private:
  std::string Payload(std::size_t below) {
    std::string bytes(random_.Below(below), '\0');
    for (char& c : bytes) c = static_cast<char>(random_.Below(256));
    return bytes;
  }
  std::string Encoded(Opcode opcode, const std::string& payload) {
    if (side_ == Side::kClient) return FrameHeader(opcode, payload.size()) + payload;
    std::array<char, 4> mask{};
    for (char& c : mask) c = static_cast<char>(random_.Below(256));
    return MaskedFrame(opcode, payload, mask);
  }

  Random random_;
  const Side side_;
};

void ExpectTheSame(const std::string& stream, Side side, Random& random) {
  const Reading slow = ReadSlowly(stream, side);
  const Reading fast = ReadInPieces(stream, side, random);
  EXPECT_EQ(fast.error, slow.error);
  ASSERT_EQ(fast.frames.size(), slow.frames.size());
  for (std::size_t k = 0; k < slow.frames.size(); ++k) {
    EXPECT_EQ(fast.frames[k].opcode, slow.frames[k].opcode);
    EXPECT_EQ(fast.frames[k].payload, slow.frames[k].payload);
  }
}

class FramesOf : public testing::TestWithParam<Side> {};

INSTANTIATE_TEST_SUITE_P(EachSide, FramesOf, testing::Values(Side::kServer, Side::kClient),
                         [](const auto& side) {
                           return side.param == Side::kServer ? "AClient" : "AServer";
                         });

TEST_P(FramesOf, GoodStreamsAreReadAsTheSlowReaderReadsThem) {
  Streams streams(1, GetParam());
  std::size_t frames = 0;
  for (int n = 0; n < 400; ++n) {
    const std::string stream = streams.Good();
    ExpectTheSame(stream, GetParam(), streams.random());
    const Reading slow = ReadSlowly(stream, GetParam());
    EXPECT_EQ(slow.error, "") << "these are good";
    frames += slow.frames.size();
  }
  EXPECT_GT(frames, 1000U);
}

TEST_P(FramesOf, DamagedStreamsAreRefusedAtTheSamePlaceForTheSameReason) {
  Streams streams(2, GetParam());
  std::vector<std::string> errors;
  for (int n = 0; n < 3000; ++n) {
    const std::string stream = streams.Damaged();
    ExpectTheSame(stream, GetParam(), streams.random());
    errors.push_back(ReadSlowly(stream, GetParam()).error);
  }
  std::ranges::sort(errors);
  errors.erase(std::unique(errors.begin(), errors.end()), errors.end());
  EXPECT_GT(errors.size(), 8U) << "of all kinds, and none";
}

TEST_P(FramesOf, GarbageIsRefusedOrTheBeginningOfALongFrame) {
  Streams streams(3, GetParam());
  for (int n = 0; n < 3000; ++n) ExpectTheSame(streams.Garbage(), GetParam(), streams.random());
}

TEST(CloseFramesOfAnyReason, KeepItsFirstCharactersAndFitAControlFrame) {
  Random random(4, Purpose::kTest);
  const std::array<std::string, 4> characters = {"a", "\xc3\xa9", "\xe2\x82\xac",
                                                 "\xf0\x9f\x8c\xb1"};  // of 1 to 4 bytes
  for (int n = 0; n < 500; ++n) {
    std::string reason;
    std::string fits;
    for (std::uint64_t k = random.Below(150); k > 0; --k) {
      reason += characters[random.Below(4)];
      if (reason.size() <= 123) fits = reason;
    }
    const std::string payload = ClosePayload({Ending::Kind::kBusy, reason});
    EXPECT_LE(payload.size(), 125U);
    EXPECT_EQ(ReadClose(payload).reason, fits);
    EXPECT_EQ(ReadClose(payload).kind, Ending::Kind::kBusy);
  }
}

}  // namespace
}  // namespace polykern
