#include "polykern/net/transport/http_head.h"

#include <optional>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

TEST(WebSocketKeys, AreAcceptedAsTheStandardsExample) {  // RFC 6455, section 1.3
  EXPECT_EQ(AcceptKey("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(NewWebSocketKey().size(), 24U);
  EXPECT_NE(NewWebSocketKey(), NewWebSocketKey());
}

TEST(HttpHeads, AreTakenOffTheFrontOnceTheyAreWhole) {
  std::string bytes = OpeningRequest(kJoinTarget, "example.org", "KEY", "mill");
  const std::string whole = bytes + "rest";
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    std::string part = whole.substr(0, size);
    EXPECT_EQ(TakeRequestHead(part), std::nullopt);
    EXPECT_EQ(part.size(), size);
  }
  bytes = whole;
  const auto head = TakeRequestHead(bytes);
  ASSERT_TRUE(head);
  EXPECT_EQ(bytes, "rest");
  EXPECT_EQ(head->method, "GET");
  EXPECT_EQ(head->target, kJoinTarget);
  EXPECT_EQ(head->key, "KEY");
  EXPECT_EQ(head->name, "mill");
  EXPECT_TRUE(head->upgrades);
}

TEST(HttpHeads, HoldTheTokenOfWhoAsks) {
  const auto token = [](const std::string& authorization) {
    std::string bytes = "GET / HTTP/1.1\r\nHost: h\r\n" + authorization + "\r\n";
    return TakeRequestHead(bytes)->token;
  };
  EXPECT_EQ(token(""), "");
  EXPECT_EQ(token("Authorization: Bearer s3cret\r\n"), "s3cret");
  EXPECT_EQ(token("authorization: bearer s3cret\r\n"), "s3cret");
  // RFC 7617's example, and passwords that need one and two signs less.
  EXPECT_EQ(token("Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"), "open sesame");
  EXPECT_EQ(token("Authorization: Basic YTpiYzo=\r\n"), "bc:");
  EXPECT_EQ(token("Authorization: Basic YTpiY2Rl\r\n"), "bcde");
  for (const char* odd : {"Basic", "Basic ", "Basic YTpiYzo", "Basic ====", "Basic !!!!",
                          "Basic YWJj", "Digest YTpiYzo=", "s3cret"}) {
    EXPECT_EQ(token("Authorization: " + std::string(odd) + "\r\n"), "") << odd;
  }
}

TEST(HttpHeads, OfAnswersSayWhetherTheyAccept) {
  std::string good = OpeningAnswer("KEY");
  const auto head = TakeAnswerHead(good);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 101U);
  EXPECT_TRUE(head->upgrades);
  EXPECT_EQ(head->accepted, AcceptKey("KEY"));
  std::string other = HttpAnswer(404, "text/plain", "nothing");
  const auto refusal = TakeAnswerHead(other);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 404U);
  EXPECT_FALSE(refusal->upgrades);
  EXPECT_EQ(other, "nothing");
}

TEST(HttpHeads, UpgradeOnlyAsTheStandardSays) {
  const std::string good = OpeningRequest(kJoinTarget, "h", "KEY", "");
  const auto upgrades = [&](const std::string& from, const std::string& to) {
    std::string bytes = good;
    bytes.replace(bytes.find(from), from.size(), to);
    return TakeRequestHead(bytes)->upgrades;
  };
  EXPECT_TRUE(upgrades("Connection: Upgrade", "connection: keep-alive, UPGRADE"));
  EXPECT_FALSE(upgrades("Connection: Upgrade", "Connection: close"));
  EXPECT_FALSE(upgrades("Upgrade: websocket", "Upgrade: h2c"));
  EXPECT_FALSE(upgrades("Version: 13", "Version: 8"));
  EXPECT_FALSE(upgrades("GET ", "POST "));
  EXPECT_FALSE(upgrades("Sec-WebSocket-Key", "Sec-WebSocket-Quay"));
}

TEST(HttpHeads, ThatAreNoneOrTooLongAreRefused) {
  for (std::string bad : {std::string("hello\r\n\r\n"), std::string("GET\r\n\r\n"),
                          std::string("GET / HTTP/9\r\n\r\n"), std::string("\x16\x03\x01\r\n\r\n"),
                          std::string("GET / HTTP/1.1\r\nno colon\r\n\r\n"), std::string(8193, 'x'),
                          "GET / HTTP/1.1\r\na: " + std::string(9000, 'x') + "\r\n\r\n"}) {
    EXPECT_THROW(TakeRequestHead(bad), Error) << bad.substr(0, 40);
  }
  std::string bad = "HTTP/1.1 abc\r\n\r\n";
  EXPECT_THROW(TakeAnswerHead(bad), Error);
}

TEST(HttpHeads, AreTakenOneAfterTheOther) {
  const std::string one = OpeningRequest("/one", "h", "KEY", "a");
  const std::string two = OpeningRequest("/two", "h", "KEY", "b");
  std::string bytes = one + two + "GET /thr";
  EXPECT_EQ(TakeRequestHead(bytes)->target, "/one");
  EXPECT_EQ(TakeRequestHead(bytes)->name, "b");
  EXPECT_EQ(TakeRequestHead(bytes), std::nullopt);
  EXPECT_EQ(bytes, "GET /thr");
}

TEST(HttpHeads, SayWhateverNameAndTargetTheyWereMadeOf) {
  Random random(1, Purpose::kTest);
  constexpr std::string_view kCharacters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/?#[]@!$&'()*+,;=%";
  const auto word = [&](std::size_t most) {
    std::string text(1 + random.Below(most), ' ');
    for (char& c : text) c = kCharacters[random.Below(kCharacters.size())];
    return text;
  };
  for (int n = 0; n < 300; ++n) {
    const std::string target = "/" + word(60);
    const std::string name = word(64);
    const std::string key = NewWebSocketKey();
    std::string request = OpeningRequest(target, word(20), key, name) + "rest";
    const auto head = TakeRequestHead(request);
    ASSERT_TRUE(head);
    EXPECT_EQ(head->target, target);
    EXPECT_EQ(head->name, name);
    EXPECT_EQ(head->key, key);
    EXPECT_TRUE(head->upgrades);
    EXPECT_EQ(request, "rest");
    std::string answer = OpeningAnswer(key);
    EXPECT_EQ(TakeAnswerHead(answer)->accepted, AcceptKey(key));
  }
}

TEST(HttpHeads, ThatAreDamagedAreRefusedOrRead) {
  Random random(2, Purpose::kTest);
  const std::string good = OpeningRequest(kJoinTarget, "example.org", "KEY", "mill");
  int refused = 0;
  int different = 0;
  for (int n = 0; n < 2000; ++n) {
    std::string bytes = good;
    for (std::uint64_t k = random.Below(4); k < 4; ++k) {
      bytes[random.Below(bytes.size())] = static_cast<char>(random.Below(256));
    }
    const std::string before = bytes;
    try {
      const auto head = TakeRequestHead(bytes);
      EXPECT_TRUE(head || bytes == before) << "nothing is taken of what is not whole";
      different += static_cast<int>(!head || !head->upgrades || head->name != "mill");
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "bytes that are not HTTP");
      ++refused;
    }
  }
  EXPECT_GT(refused, 200);
  EXPECT_GT(different, 200);
}

TEST(HttpAnswers, SayHowLongTheyAreAndEndTheConnection) {
  for (const unsigned status : {200U, 400U, 401U, 403U, 404U, 405U, 409U, 426U, 503U}) {
    const std::string body(status, 'x');
    std::string answer = HttpAnswer(status, "text/plain", body, "A: b\r\n");
    EXPECT_THAT(answer, testing::HasSubstr("Content-Length: " + std::to_string(status) + "\r\n"));
    EXPECT_THAT(answer, testing::HasSubstr("Connection: close\r\nA: b\r\n\r\n"));
    EXPECT_EQ(TakeAnswerHead(answer)->status, status);
    EXPECT_EQ(answer, body);
  }
}

}  // namespace
}  // namespace polykern
