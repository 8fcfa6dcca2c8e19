#include "polykern/net/transport/frames.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::array<char, 4> kMask = {1, 2, 4, 8};

std::string FromClient(Opcode opcode, std::string_view payload) {
  return MaskedFrame(opcode, payload, kMask);
}
std::string FromServer(Opcode opcode, std::string_view payload) {
  return FrameHeader(opcode, payload.size()) + std::string(payload);
}
/// The same frame as one of several fragments.
std::string Unfinished(std::string frame) {
  frame[0] = static_cast<char>(frame[0] & 0x7F);
  return frame;
}

std::vector<Frame> ReadAll(FrameReader& reader, std::string_view bytes, std::size_t at_once) {
  std::vector<Frame> frames;
  while (!bytes.empty()) {
    std::string_view part = bytes.substr(0, at_once);
    bytes.remove_prefix(part.size());
    while (auto frame = reader.Next(part)) frames.push_back(*std::move(frame));
    EXPECT_TRUE(part.empty());
  }
  return frames;
}

TEST(Frames, ComeBackHoweverTheyAreCutIntoPieces) {
  Random random(1, Purpose::kTest);
  for (const std::size_t length : {0, 1, 125, 126, 127, 1000, 65535, 65536, 70001}) {
    std::string payload;
    for (std::size_t i = 0; i < length; ++i) payload += static_cast<char>(random.Below(256));
    const std::string two = FromClient(Opcode::kBinary, payload) + FromClient(Opcode::kPing, "hi");
    for (const std::size_t at_once :
         {std::size_t{1}, std::size_t{7}, std::size_t{4096}, two.size()}) {
      FrameReader server(Side::kServer, 100'000);
      const auto frames = ReadAll(server, two, at_once);
      ASSERT_EQ(frames.size(), 2U);
      EXPECT_EQ(frames[0].payload, payload);
      EXPECT_EQ(frames[1].opcode, Opcode::kPing);
      EXPECT_EQ(frames[1].payload, "hi");
    }
    FrameReader client(Side::kClient, 100'000);
    EXPECT_EQ(ReadAll(client, FromServer(Opcode::kBinary, payload), 999).at(0).payload, payload);
  }
}

TEST(Frames, HaveTheBytesOfTheStandardsExamples) {  // RFC 6455, section 5.7
  FrameReader client(Side::kClient, 1000);
  EXPECT_EQ(ReadAll(client, "\x89\x05Hello", 99).at(0).payload, "Hello");
  FrameReader server(Side::kServer, 1000);
  EXPECT_EQ(ReadAll(server, "\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", 99).at(0).payload,
            "Hello");
  EXPECT_EQ(MaskedFrame(Opcode::kPong, "Hello", {'\x37', '\xfa', '\x21', '\x3d'}),
            "\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
  EXPECT_EQ(FrameHeader(Opcode::kBinary, 256), std::string("\x82\x7e\x01\x00", 4));
  EXPECT_EQ(FrameHeader(Opcode::kBinary, 65536), std::string("\x82\x7f\0\0\0\0\0\1\0\0", 10));
}

TEST(Frames, MakeOneMessageOfItsFragmentsAndControlFramesMayComeBetween) {
  const std::string bytes = Unfinished(FromClient(Opcode::kBinary, "one ")) +
                            FromClient(Opcode::kPing, "?") +
                            Unfinished(FromClient(Opcode::kContinuation, "two ")) +
                            FromClient(Opcode::kContinuation, "three");
  FrameReader server(Side::kServer, 1000);
  const auto frames = ReadAll(server, bytes, 3);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0].opcode, Opcode::kPing);
  EXPECT_EQ(frames[1].payload, "one two three");
}

TEST(Frames, ThatBreakARuleAreRefusedByTheirHeader) {
  const auto refused = [](const std::string& bytes, const std::string& why) {
    FrameReader server(Side::kServer, 10);
    EXPECT_THAT([&] { ReadAll(server, bytes, 99); }, ThrowsMessage<Error>(HasSubstr(why)));
  };
  const std::string eleven(11, 'x');
  refused(FromServer(Opcode::kBinary, "x"), "not masked");
  refused(FromClient(Opcode::kBinary, eleven).substr(0, 6), "more than 10 bytes");
  refused(Unfinished(FromClient(Opcode::kBinary, "123456")) +
              FromClient(Opcode::kContinuation, "12345"),
          "more than 10 bytes");
  refused(std::string("\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff....", 14), "more than 10 bytes");
  refused("\x81\x81....x", "kind 1");
  refused("\x83\x81....x", "kind 3");
  refused("\x8b\x81....x", "kind 11");
  refused("\xc2\x81....x", "reserved bits");
  refused("\x89\xfe\x01\x80....", "control frame");
  refused("\x09\x80....", "control frame");
  refused(FromClient(Opcode::kContinuation, "x"), "a fragment of no message");
  refused(Unfinished(FromClient(Opcode::kBinary, "x")) + FromClient(Opcode::kBinary, "x"),
          "within another");
  FrameReader client(Side::kClient, 10);
  EXPECT_THAT([&] { ReadAll(client, FromClient(Opcode::kBinary, "x"), 99); },
              ThrowsMessage<Error>(HasSubstr("that is masked")));
}

TEST(Frames, AreBoundedInNumber) {
  FrameReader server(Side::kServer, 1000);
  server.Allow(3);
  const std::string empty = Unfinished(FromClient(Opcode::kContinuation, ""));
  const std::string bytes = Unfinished(FromClient(Opcode::kBinary, "")) + empty + empty;
  EXPECT_TRUE(ReadAll(server, bytes, 99).empty());
  EXPECT_THAT([&] { ReadAll(server, empty, 99); }, ThrowsMessage<Error>("too many frames at once"));
  server.Allow(1);
  EXPECT_EQ(ReadAll(server, FromClient(Opcode::kPong, ""), 99).size(), 1U);
}

TEST(CloseFrames, SayWhyAConnectionEnds) {
  using Kind = Ending::Kind;
  for (const Kind kind : {Kind::kFinished, Kind::kStopping, Kind::kRefused, Kind::kVersion,
                          Kind::kBusy, Kind::kReplaced, Kind::kBroken, Kind::kSilent}) {
    const Ending told = ReadClose(ClosePayload({kind, "because"}));
    EXPECT_EQ(told.kind, kind);
    EXPECT_EQ(told.reason, "because");
  }
  EXPECT_EQ(ReadClose("").kind, Kind::kFinished);
  EXPECT_EQ(ReadClose("\x0f\x42").kind, Kind::kLost) << "an unknown code";
  EXPECT_THROW(ReadClose("x"), Error);
}

TEST(CloseFrames, CutReasonsBetweenCharacters) {
  const std::string long_reason = std::string(122, 'x') + "\xc3\xa9";  // two bytes of one character
  EXPECT_EQ(ClosePayload({Ending::Kind::kBusy, long_reason}).substr(2), std::string(122, 'x'));
  EXPECT_EQ(ClosePayload({Ending::Kind::kBusy, std::string(200, 'y')}).size(), 125U);
}

}  // namespace
}  // namespace polykern
