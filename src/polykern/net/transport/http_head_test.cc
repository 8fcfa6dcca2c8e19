#include "polykern/net/transport/http_head.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"

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

}  // namespace
}  // namespace polykern
