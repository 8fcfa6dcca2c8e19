#include "polykern/net/helper/helper_wire.h"

#include <cmath>
#include <functional>

#include <gmock/gmock.h>

#include "polykern/io/folder_testing.h"
#include "polykern/net/helper/helper_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;

SignedMaskKey SomeKey(char mark) {
  SignedMaskKey key{.certificate = "certificate", .key = {}, .signature = std::string(3, mark)};
  key.key.fill(static_cast<std::uint8_t>(mark));
  return key;
}

HelperQuestion SomeQuestion() {
  HelperQuestion question{.id = 5, .release = TestRequest(3, 9, 945, 2)};
  question.release.messages = {{"a", 4, 3, {20, 120}, 60, {1, 2, 255}},
                               {"b", 4, 0, {1, 6}, 0, {}},
                               {"a", 5, 4, {21, 126}, 126, {7}}};
  question.keys = {{"a", SomeKey('x')}, {"c", SomeKey('\0')}};
  return question;
}

TEST(HelperWire, BringsEveryMessageBack) {
  const HelperQuestion question = SomeQuestion();
  const auto asked = std::get<HelperQuestion>(DecodeToHelper(Encode(question)));
  EXPECT_EQ(asked.id, 5U);
  EXPECT_EQ(asked.release.messages, question.release.messages);
  EXPECT_EQ(DigestOf(asked.release), DigestOf(question.release));
  ASSERT_EQ(asked.keys.size(), 2U);
  EXPECT_EQ(asked.keys.at("a").key, SomeKey('x').key);
  EXPECT_EQ(asked.keys.at("c").signature, SomeKey('\0').signature);
  EXPECT_EQ(Encode(asked), Encode(question));

  const auto hello = std::get<HelperHello>(DecodeToHelper(Encode(HelperHello{1, "f", 7})));
  EXPECT_EQ(hello.federation, "f");
  EXPECT_EQ(hello.epoch, 7U);

  const HelperKeys keys{.id = 6, .keys = question.keys};
  const auto told = std::get<HelperKeys>(DecodeToHelper(Encode(keys)));
  EXPECT_EQ(told.id, 6U);
  EXPECT_EQ(told.keys, keys.keys);

  for (const bool takes_keys : {false, true}) {
    const auto welcome = std::get<HelperWelcome>(
        DecodeFromHelper(Encode(HelperWelcome{1, SomeKey('k'), 9, takes_keys})));
    EXPECT_EQ(welcome.key, SomeKey('k'));
    EXPECT_EQ(welcome.releases, 9U);
    EXPECT_EQ(welcome.takes_keys, takes_keys);
  }

  for (const HelperReply& reply : {HelperReply{HelperReply::Kind::kAnswered, {1, UINT64_MAX}, ""},
                                   HelperReply{HelperReply::Kind::kRefused, {}, "no"},
                                   HelperReply{HelperReply::Kind::kLater, {}, "not yet"}}) {
    const auto answer = std::get<HelperAnswer>(DecodeFromHelper(Encode(HelperAnswer{8, reply})));
    EXPECT_EQ(answer.id, 8U);
    EXPECT_EQ(answer.reply.kind, reply.kind);
    EXPECT_EQ(answer.reply.streams, reply.streams);
    EXPECT_EQ(answer.reply.reason, reply.reason);
  }
}

TEST(HelperWire, CarriesWhatWasPromisedOfNoise) {
  const NoiseTerms terms{1.5, 1e-7, 9, 3, 20, {64, 0x1p-16}};
  HelperQuestion question = SomeQuestion();
  EXPECT_FALSE(std::get<HelperQuestion>(DecodeToHelper(Encode(question))).release.noise.noisy());
  question.release.noise = terms;
  EXPECT_EQ(std::get<HelperQuestion>(DecodeToHelper(Encode(question))).release.noise, terms);
  EXPECT_NE(DigestOf(question.release), DigestOf(SomeQuestion().release));
  const HelperHello hello{.federation = "f", .epoch = 1, .noise = terms};
  EXPECT_EQ(std::get<HelperHello>(DecodeToHelper(Encode(hello))).noise, terms);
  const std::vector<std::function<void(NoiseTerms&)>> changes = {
      [](auto& t) { t.epsilon = INFINITY; },
      [](auto& t) { t.delta = 0; },
      [](auto& t) { t.delta = 1; },
      [](auto& t) { t.delta = std::nan(""); },
      [](auto& t) { t.releases = 0; },
      [](auto& t) { t.releases = 4097; },
      [](auto& t) { t.samples_per_event = 0; },
      [](auto& t) { t.samples_per_event = 1U << 17; },
      [](auto& t) { t.numbers = 0; },
      [](auto& t) { t.numbers = (1U << 22) + 1; },
      [](auto& t) { t.ring.bits = 16; },
      [](auto& t) { t.ring.unit = -1; },
  };
  for (std::size_t n = 0; n < changes.size(); ++n) {
    HelperHello wrong = hello;
    changes[n](wrong.noise);
    EXPECT_THAT(MessageOf([&] { DecodeToHelper(Encode(wrong)); }),
                testing::AnyOf(HasSubstr("invalid noise settings"), HasSubstr("an invalid ring")))
        << n;
  }
}

TEST(HelperWire, ShowsPeopleOneLineOfPlainText) {
  const HelperReply reply{HelperReply::Kind::kRefused, {}, std::string(5000, 'x') + "\n\x1b[1m"};
  const auto answer = std::get<HelperAnswer>(DecodeFromHelper(Encode(HelperAnswer{1, reply})));
  EXPECT_EQ(answer.reply.reason, std::string(1000, 'x'));
  const HelperReply bell{HelperReply::Kind::kRefused, {}, "a\nb\x07"};
  EXPECT_EQ(std::get<HelperAnswer>(DecodeFromHelper(Encode(HelperAnswer{1, bell}))).reply.reason,
            "a?b?");
}

TEST(HelperWire, RefusesWhatCannotBe) {
  const std::vector<std::function<void(HelperQuestion&)>> changes = {
      [](auto& q) { q.release.federation.clear(); },
      [](auto& q) { q.release.federation = std::string(65, 'f'); },
      [](auto& q) { q.release.federation = "two words"; },
      [](auto& q) { q.release.epoch = 1ULL << 62; },
      [](auto& q) { q.release.number = UINT64_MAX; },
      [](auto& q) { q.release.kind = 1U << 16; },
      [](auto& q) { q.release.numbers = 0; },
      [](auto& q) { q.release.numbers = (1U << 22) + 1; },
      [](auto& q) { q.release.ring.bits = 63; },
      [](auto& q) { q.release.ring.unit = 0; },
      [](auto& q) { q.release.ring.unit = std::nan(""); },
      [](auto& q) { q.release.ring.unit = INFINITY; },
      [](auto& q) { q.release.messages[1].client = "../b"; },
      [](auto& q) { q.release.messages[1].client.clear(); },
      [](auto& q) { q.release.messages[1].step = 1ULL << 62; },
      [](auto& q) { q.release.messages[1].count.samples = 1ULL << 40; },
      [](auto& q) { q.release.messages[1].count.unknowns = UINT64_MAX; },
      [](auto& q) { q.release.messages[1].new_unknowns = 1ULL << 40; },
      [](auto& q) { q.keys["bad name"] = SomeKey('k'); },
      [](auto& q) { q.keys["a"].certificate = std::string(8193, 'c'); },
      [](auto& q) { q.keys["a"].signature = std::string(257, 's'); },
  };
  for (std::size_t n = 0; n < changes.size(); ++n) {
    HelperQuestion question = SomeQuestion();
    changes[n](question);
    EXPECT_THAT(MessageOf([&] { DecodeToHelper(Encode(question)); }),
                testing::AnyOf(HasSubstr("received a message with"),
                               HasSubstr("received a mask key of the wrong length")))
        << n;
  }
  EXPECT_THAT(MessageOf([] {
                DecodeToHelper(Encode(HelperHello{1, "", 0}));
              }),
              HasSubstr("an invalid federation name"));
  const HelperKeys keys{.id = 1, .keys = {{"bad name", SomeKey('k')}}};
  EXPECT_THAT(MessageOf([&] { DecodeToHelper(Encode(keys)); }),
              HasSubstr("an invalid client name"));
  EXPECT_THAT(MessageOf([] { DecodeToHelper(""); }), HasSubstr("of an unknown kind"));
  EXPECT_THAT(MessageOf([] { DecodeFromHelper(""); }), HasSubstr("of an unknown kind"));
  EXPECT_THAT(MessageOf([] { DecodeToHelper("\xff\xff"); }), HasSubstr("not a valid message"));
}

/// Cut off or with a byte changed: it is a message, or an Error.
TEST(HelperWire, SurvivesDamage) {
  const std::string good = Encode(SomeQuestion());
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const std::string& bytes :
         {good.substr(0, at), std::string(good).replace(at, 1, 1, '\x7f')}) {
      try {
        DecodeToHelper(bytes);
        DecodeFromHelper(bytes);
      } catch (const Error&) {
      }
    }
  }
}

TEST(HelperWire, KnowsHowLongMessagesAre) {
  HelperQuestion question{.id = UINT64_MAX, .release = TestRequest(1ULL << 61, 65535, 1U << 22)};
  for (int client = 0; client < 10; ++client) {
    const std::string name = std::string(63, 'n') + std::to_string(client);
    question.keys[name] = {
        .certificate = std::string(8192, 'c'), .key = {}, .signature = std::string(256, 's')};
    for (std::uint64_t step = 0; step < 256; ++step) {
      question.release.messages.push_back({name,
                                           (1ULL << 62) - 1 - step,
                                           UINT64_MAX,
                                           {(1ULL << 40) - 1, (1ULL << 40) - 1},
                                           (1ULL << 40) - 1,
                                           {}});
    }
  }
  const std::string bytes = Encode(question);
  EXPECT_NO_THROW(DecodeToHelper(bytes));
  EXPECT_LE(bytes.size() + (4U << 20), LongestToHelper(10));
  HelperAnswer answer{UINT64_MAX, {HelperReply::Kind::kAnswered, {}, ""}};
  answer.reply.streams.assign(1000, UINT64_MAX);
  EXPECT_LE(Encode(answer).size(), LongestFromHelper(1000));
  EXPECT_LE(Encode(HelperWelcome{1, question.keys.begin()->second, UINT64_MAX}).size(),
            LongestFromHelper(0));
}

TEST(ADigest, DiffersWithAnythingButTheOrder) {
  const ReleaseRequest request = SomeQuestion().release;
  const std::vector<std::function<void(ReleaseRequest&)>> changes = {
      [](auto& r) { r.federation += 'x'; },
      [](auto& r) { ++r.epoch; },
      [](auto& r) { ++r.number; },
      [](auto& r) { ++r.kind; },
      [](auto& r) { ++r.numbers; },
      [](auto& r) { r.ring.bits = 32; },
      [](auto& r) { r.ring.unit *= 2; },
      [](auto& r) { r.messages.pop_back(); },
      [](auto& r) { r.messages.push_back(r.messages[0]); },
      [](auto& r) { r.messages[1].client = "c"; },
      [](auto& r) { ++r.messages[1].step; },
      [](auto& r) { ++r.messages[1].count.samples; },
      [](auto& r) { ++r.messages[1].count.unknowns; },
      [](auto& r) { ++r.messages[1].new_unknowns; },
      [](auto& r) { ++r.messages[1].nonce[15]; },
      [](auto& r) { ++r.messages[1].releases; },
  };
  for (std::size_t n = 0; n < changes.size(); ++n) {
    ReleaseRequest other = request;
    changes[n](other);
    EXPECT_NE(DigestOf(other), DigestOf(request)) << n;
  }
  ReleaseRequest turned = request;
  std::swap(turned.messages[0], turned.messages[2]);
  EXPECT_EQ(DigestOf(turned), DigestOf(request));
}

}  // namespace
}  // namespace polykern
