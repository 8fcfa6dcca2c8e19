#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/core/random.h"
#include "polykern/net/wire.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Protocol Buffers by hand: the slow twin of the generated code, and how other programs may write.

std::string Varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7U) bytes += static_cast<char>(value | 128U);
  return bytes + static_cast<char>(value);
}
std::string WholeField(unsigned number, std::uint64_t value) {
  return Varint(number << 3U) + Varint(value);
}
std::string BytesField(unsigned number, const std::string& bytes) {
  return Varint(number << 3U | 2U) + Varint(bytes.size()) + bytes;
}
template <typename T>
std::string Raw(T value) {  // the wire is little-endian, as every machine that this runs on
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
template <typename T>
std::string Packed(unsigned number, const std::vector<T>& values) {
  std::string bytes;
  for (const T value : values) {
    if constexpr (std::is_integral_v<T>) {
      bytes += Varint(value);
    } else {
      bytes += Raw(value);
    }
  }
  return values.empty() ? "" : BytesField(number, bytes);
}
std::string DoubleField(unsigned number, double value) {
  return Varint(number << 3U | 1U) + Raw(value);
}

std::string HandMade(const Hello& hello) {
  return BytesField(1, WholeField(1, hello.version) + WholeField(2, hello.next_step));
}
std::string HandMade(const Updates& updates) {
  return BytesField(2, WholeField(1, updates.step) + Packed(2, updates.blocks) +
                           Packed(3, updates.values) + Packed(4, updates.losses));
}
std::string HandMade(const ClientReport& report) {
  return BytesField(3, WholeField(1, report.predictions) + DoubleField(2, report.squared_error) +
                           DoubleField(3, report.regret));
}
std::string ModelFields(const ModelChange& change) {
  return WholeField(1, change.step) + Packed(2, change.blocks) + Packed(3, change.values) +
         Packed(4, change.weights) + (change.finished ? WholeField(5, 1) : "");
}
std::string HandMade(const ModelChange& change) {
  return BytesField(2, ModelFields(change));
}
std::string HandMade(const Verdict& verdict) {
  return BytesField(
      3, WholeField(1, verdict.step) + (verdict.accepted ? "" : BytesField(2, verdict.reason)));
}
std::string HandMade(const Busy& busy) {
  return BytesField(4, WholeField(1, busy.earliest_milliseconds) +
                           WholeField(2, busy.latest_milliseconds) + BytesField(3, busy.reason));
}

/// Messages with random numbers, all of them above 0, which proto3 would leave out.
struct RandomMessages {
  explicit RandomMessages(std::uint64_t seed) : random(seed, Purpose::kTest) {
    hello = {static_cast<std::uint32_t>(Above0(32)), Above0(64)};
    updates.step = Above0(64);
    updates.clients = {0};
    updates.blocks = Blocks();
    updates.first = {0, updates.blocks.size()};
    updates.values = Floats();
    updates.losses = Floats();
    report = {Above0(64), random.Uniform() + 0.5, random.Normal()};
    change = {Above0(64), random.Below(2) == 0, Blocks(), Floats(), {}};
    for (std::uint64_t left = random.Below(4); left > 0; --left) {
      change.weights.push_back(random.Normal());
    }
    const bool accepted = random.Below(2) == 0;
    verdict = {Above0(64), accepted, accepted ? "" : "reason " + std::to_string(Above0(20))};
    busy = {static_cast<std::uint32_t>(Above0(32)), static_cast<std::uint32_t>(Above0(32)), "full"};
  }
  std::uint64_t Above0(unsigned bits) {
    return random.Bits() >> (64 - 1 - random.Below(bits)) | 1U;
  }
  std::vector<std::uint32_t> Blocks() {
    std::vector<std::uint32_t> blocks(random.Below(5));
    for (std::uint32_t& block : blocks) block = static_cast<std::uint32_t>(Above0(32));
    return blocks;
  }
  std::vector<float> Floats() {  // any bits but those of NaN, which differs from itself
    std::vector<float> values(random.Below(6));
    for (float& value : values) {
      do {
        value = std::bit_cast<float>(static_cast<std::uint32_t>(random.Bits()));
      } while (value != value);
    }
    return values;
  }

  Random random;
  Hello hello;
  Updates updates;
  ClientReport report;
  ModelChange change;
  Verdict verdict;
  Busy busy;
};

void ExpectSame(const Updates& got, const Updates& sent) {
  EXPECT_EQ(got.step, sent.step);
  EXPECT_EQ(got.clients, sent.clients);
  EXPECT_EQ(got.blocks, sent.blocks);
  EXPECT_EQ(got.first, sent.first);
  EXPECT_EQ(got.values, sent.values);
  EXPECT_EQ(got.losses, sent.losses);
}
void ExpectSame(const ModelChange& got, const ModelChange& sent) {
  EXPECT_EQ(got.step, sent.step);
  EXPECT_EQ(got.finished, sent.finished);
  EXPECT_EQ(got.blocks, sent.blocks);
  EXPECT_EQ(got.values, sent.values);
  EXPECT_EQ(got.weights, sent.weights);
}

TEST(BytesOnTheWire, AreThoseThatTheProtocolSays) {
  EXPECT_EQ(Encode(Hello{3, 300}), std::string("\x0a\x05\x08\x03\x10\xac\x02"));
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RandomMessages m(seed);
    EXPECT_EQ(Encode(m.hello), HandMade(m.hello));
    EXPECT_EQ(Encode(m.updates), HandMade(m.updates));
    EXPECT_EQ(Encode(m.report), HandMade(m.report));
    EXPECT_EQ(Encode(m.change), HandMade(m.change));
    EXPECT_EQ(Encode(m.verdict), HandMade(m.verdict));
    EXPECT_EQ(Encode(m.busy), HandMade(m.busy));
  }
}

TEST(BytesOnTheWire, ComeBackAsTheMessagesTheyWereMadeOf) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RandomMessages m(seed);
    const auto hello = std::get<Hello>(DecodeClientMessage(Encode(m.hello)));
    EXPECT_EQ(hello.version, m.hello.version);
    EXPECT_EQ(hello.next_step, m.hello.next_step);
    ExpectSame(std::get<Updates>(DecodeClientMessage(Encode(m.updates))), m.updates);
    const auto report = std::get<ClientReport>(DecodeClientMessage(Encode(m.report)));
    EXPECT_EQ(report.predictions, m.report.predictions);
    EXPECT_EQ(report.squared_error, m.report.squared_error);
    EXPECT_EQ(report.regret, m.report.regret);
    ExpectSame(std::get<ModelChange>(DecodeServerMessage(Encode(m.change))), m.change);
    const auto verdict = std::get<Verdict>(DecodeServerMessage(Encode(m.verdict)));
    EXPECT_EQ(verdict.step, m.verdict.step);
    EXPECT_EQ(verdict.accepted, m.verdict.accepted);
    EXPECT_EQ(verdict.reason, m.verdict.reason);
    const auto busy = std::get<Busy>(DecodeServerMessage(Encode(m.busy)));
    EXPECT_EQ(busy.earliest_milliseconds, m.busy.earliest_milliseconds);
    EXPECT_EQ(busy.latest_milliseconds, m.busy.latest_milliseconds);
    EXPECT_EQ(busy.reason, m.busy.reason);
  }
}

TEST(BytesOnTheWire, OfAWelcomeComeBackWithEveryByteOfItsConfiguration) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    RandomMessages m(seed);
    Welcome welcome{static_cast<std::uint32_t>(m.Above0(32)),
                    m.Above0(64),
                    {},
                    m.change,
                    m.Above0(64),
                    seed % 2 == 0};
    for (std::uint64_t left = m.random.Below(4); left > 0; --left) {
      std::string value;
      for (std::uint64_t n = m.random.Below(9); n > 0; --n) {
        value += static_cast<char>(m.random.Below(256));  // also what is not UTF-8
      }
      welcome.configuration["key" + std::to_string(left)] = value;
    }
    const auto got = std::get<Welcome>(DecodeServerMessage(Encode(welcome)));
    EXPECT_EQ(got.version, welcome.version);
    EXPECT_EQ(got.client, welcome.client);
    EXPECT_EQ(got.configuration, welcome.configuration);
    ExpectSame(got.model, welcome.model);
    EXPECT_EQ(got.answered, welcome.answered);
    EXPECT_EQ(got.uses_late, welcome.uses_late);
  }
}

TEST(BytesOnTheWire, CutOffAnywhereAreNotAMessage) {
  const RandomMessages m(11);
  const Welcome welcome{3, 2, {{"key", "value"}}, m.change, 5, true};
  const auto expect = [](const std::string& whole, const auto& decode) {
    ASSERT_NO_THROW(decode(whole));
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const std::string cut(whole.data(), length);
      EXPECT_THAT(
          [&] { decode(cut); },
          ThrowsMessage<Error>(length == 0 ? HasSubstr("of an unknown kind")
                                           : HasSubstr(std::to_string(length) +
                                                       " bytes that are not a valid message")))
          << length << " of " << whole.size();
    }
  };
  const auto client = [](const std::string& bytes) { DecodeClientMessage(bytes); };
  const auto server = [](const std::string& bytes) { DecodeServerMessage(bytes); };
  expect(Encode(m.hello), client);
  expect(Encode(m.updates), client);
  expect(Encode(m.report), client);
  expect(Encode(welcome), server);
  expect(Encode(m.change), server);
  expect(Encode(m.verdict), server);
  expect(Encode(m.busy), server);
}

TEST(BytesOnTheWire, WithAnyOneByteChangedAreRefusedOrConsistent) {
  const RandomMessages m(7);
  std::size_t good = 0;
  std::size_t refused = 0;
  for (const std::string& whole : {Encode(m.updates), Encode(m.report)}) {
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
        try {
          const ClientMessage message = DecodeClientMessage(bytes);
          ++good;
          if (const auto* updates = std::get_if<Updates>(&message)) {
            EXPECT_EQ(updates->size(), 1U);
            EXPECT_THAT(updates->first, ElementsAre(0, updates->blocks.size()));
          } else if (const auto* report = std::get_if<ClientReport>(&message)) {
            EXPECT_TRUE(report->squared_error >= 0 && report->regret == report->regret);
          }
        } catch (const Error&) {
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(good, 20U);
  EXPECT_GT(refused, 20U);
}

TEST(BytesOnTheWire, MayHoldFieldsThatAreNotKnownHere) {
  const std::string later = WholeField(90, 7) + BytesField(91, "new") + DoubleField(92, 0.5);
  const std::string hello = BytesField(1, later + WholeField(1, 4) + later + WholeField(2, 9));
  for (const std::string& bytes : {hello, later + hello, hello + later}) {
    const auto got = std::get<Hello>(DecodeClientMessage(bytes));
    EXPECT_EQ(got.version, 4U);
    EXPECT_EQ(got.next_step, 9U);
  }
  const auto verdict =
      std::get<Verdict>(DecodeServerMessage(BytesField(3, WholeField(1, 8) + later) + later));
  EXPECT_EQ(verdict.step, 8U);
  EXPECT_TRUE(verdict.accepted);
}

TEST(BytesOnTheWire, OfAKindThatIsNotKnownHereAreRefused) {
  EXPECT_THAT([] { DecodeClientMessage(BytesField(9, "later")); },
              ThrowsMessage<Error>("received a message of an unknown kind"));
  EXPECT_THAT([] { DecodeServerMessage(BytesField(9, "later")); },
              ThrowsMessage<Error>("received a message of an unknown kind from the server"));
}

TEST(BytesOnTheWire, LetTheLastOfTwoKindsCount) {
  const RandomMessages m(3);
  EXPECT_TRUE(
      std::holds_alternative<Updates>(DecodeClientMessage(Encode(m.hello) + Encode(m.updates))));
  EXPECT_TRUE(
      std::holds_alternative<Hello>(DecodeClientMessage(Encode(m.updates) + Encode(m.hello))));
  EXPECT_TRUE(
      std::holds_alternative<Busy>(DecodeServerMessage(Encode(m.verdict) + Encode(m.busy))));
}

TEST(BytesOnTheWire, MayNameNumbersOneByOne) {
  std::string fields = WholeField(1, 5);
  for (const std::uint32_t block : {3U, 1U}) fields += WholeField(2, block);
  for (const float value : {0.5F, -2.0F}) fields += Varint(3U << 3U | 5U) + Raw(value);
  const auto updates = std::get<Updates>(DecodeClientMessage(BytesField(2, fields)));
  EXPECT_THAT(updates.blocks, ElementsAre(3, 1));
  EXPECT_THAT(updates.values, ElementsAre(0.5F, -2.0F));
}

TEST(BytesOnTheWire, WithoutFieldsMeanZeros) {
  const auto hello = std::get<Hello>(DecodeClientMessage(BytesField(1, "")));
  EXPECT_EQ(hello.version, 0U);
  const auto welcome = std::get<Welcome>(DecodeServerMessage(BytesField(1, "")));
  EXPECT_EQ(welcome.version, 0U);
  EXPECT_TRUE(welcome.configuration.empty() && welcome.model.blocks.empty());
  EXPECT_FALSE(welcome.uses_late);
  EXPECT_TRUE(std::get<Verdict>(DecodeServerMessage(BytesField(3, ""))).accepted);
}

TEST(BytesOnTheWire, BringReasonsOnOneShortLineWhicheverSideSentThem) {
  const std::string nasty =
      "a\x01\x1b[2J\r\n\x7f"
      "b\xc3\xa4 ~";
  const std::string plain = "a  [2J   b?? ~";
  const std::string field = BytesField(2, "b\x1b~");  // proto3 wants UTF-8 here
  EXPECT_EQ(std::get<Verdict>(DecodeServerMessage(BytesField(3, field))).reason, "b ~");
  EXPECT_EQ(std::get<Verdict>(DecodeServerMessage(Encode(Verdict{1, false, nasty}))).reason, plain);
  EXPECT_EQ(std::get<Busy>(DecodeServerMessage(Encode(Busy{1, 2, nasty}))).reason, plain);
  const std::string flood = BytesField(3, BytesField(2, std::string(5000, 'x')));
  EXPECT_EQ(std::get<Verdict>(DecodeServerMessage(flood)).reason, std::string(1000, 'x'));
  EXPECT_EQ(Encode(Busy{1, 2, std::string(5000, 'x')}),
            HandMade(Busy{1, 2, std::string(1000, 'x')}));
}

}  // namespace
}  // namespace polykern
