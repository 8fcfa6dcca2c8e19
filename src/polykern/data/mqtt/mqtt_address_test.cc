#include "polykern/data/mqtt/mqtt_address.h"

#include <optional>
#include <regex>
#include <span>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/random.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(AnMqttAddress, NamesABrokerAndATopic) {
  const MqttAddress plain = ParseMqtt("mqtt://broker/site/7/samples");
  EXPECT_EQ(plain.host, "broker");
  EXPECT_EQ(plain.port, 1883);
  EXPECT_EQ(plain.topic, "site/7/samples");
  EXPECT_EQ(plain.user, "");
  EXPECT_EQ(plain.name(), "mqtt://broker:1883/site/7/samples");
  const MqttAddress full = ParseMqtt("mqtt://anna:a/b@c:d@[::1]:1884/t");
  EXPECT_EQ(full.host, "::1");
  EXPECT_EQ(full.port, 1884);
  EXPECT_EQ(full.topic, "t");
  EXPECT_EQ(full.user, "anna");
  EXPECT_EQ(full.password, "a/b@c:d");
  EXPECT_THAT(full.name(), Not(HasSubstr("anna")));
  EXPECT_TRUE(IsMqtt("mqtt://x/y"));
  EXPECT_FALSE(IsMqtt("tcp://x/y"));
}

TEST(AnMqttAddress, IsNamedWithoutItsPasswordIfItIsNone) {
  for (const char* bad :
       {"mqtt://", "mqtt://host", "mqtt://host/", "mqtt:///topic", "mqtt://a:secret@host",
        "mqtt://a:secret@host:x/t", "mqtt://a:secret@host:0/t", "mqtt://host:70000/t"}) {
    const std::string said = MessageOf([&] { ParseMqtt(bad); });
    EXPECT_THAT(said, HasSubstr("HOST[:PORT]/TOPIC")) << bad;
    EXPECT_THAT(said, Not(HasSubstr("secret"))) << bad;
  }
}

/// A part of an address, or now and then something that is none.
std::string DrawPart(Random& random, std::span<const std::string_view> parts) {
  return std::string(parts[random.Below(parts.size())]);
}

/// Whatever parts it is made of, an address that is taken has them again.
TEST(AnMqttAddress, HasThePartsItWasMadeOf) {
  constexpr std::string_view kUsers[] = {"", "anna", "a.b-c"};
  constexpr std::string_view kPasswords[] = {"", "x", "a:b", "p/q", "p@q", "/@:/"};
  constexpr std::string_view kHosts[] = {"h", "10.0.0.1", "a.example", "[::1]", "[fe80::1]"};
  constexpr std::string_view kPorts[] = {"", "1", "1883", "65535"};
  constexpr std::string_view kTopics[] = {"t", "a/b", "+/x", "#", "a b", "a:1/b", "a@b"};
  Random random(1, Purpose::kTest);
  for (int i = 0; i < 2000; ++i) {
    const std::string user = DrawPart(random, kUsers);
    const std::string password = user.empty() ? "" : DrawPart(random, kPasswords);
    const std::string host = DrawPart(random, kHosts);
    const std::string port = DrawPart(random, kPorts);
    const std::string topic = DrawPart(random, kTopics);
    const std::string text = "mqtt://" + user + (password.empty() ? "" : ":" + password) +
                             (user.empty() ? "" : "@") + host + (port.empty() ? "" : ":" + port) +
                             "/" + topic;
    const MqttAddress address = ParseMqtt(text);
    EXPECT_EQ(address.user, user) << text;
    EXPECT_EQ(address.password, password) << text;
    EXPECT_EQ(address.host, host.starts_with('[') ? host.substr(1, host.size() - 2) : host) << text;
    EXPECT_EQ(address.port, port.empty() ? 1883 : std::stoi(port)) << text;
    EXPECT_EQ(address.topic, topic) << text;
  }
}

/// Addresses without a user, by a regular expression.
std::optional<MqttAddress> SlowParse(const std::string& text) {
  static const std::regex form("mqtt://([^/:]*)(:([0-9]+))?/(.+)");
  std::smatch found;
  if (!std::regex_match(text, found, form)) return std::nullopt;
  const std::string host = found[1];
  const std::string port = found[3].matched ? std::string(found[3]) : "1883";
  const int number = port.size() > 9 ? 0 : std::stoi(port);
  if (host.empty() || number < 1 || number > 65535) return std::nullopt;
  return MqttAddress{.host = host, .port = number, .topic = found[4]};
}

TEST(AnMqttAddress, IsTakenOrRefusedAsByTheSlowParser) {
  constexpr std::string_view kPieces[] = {"a", "b.c", "/", "/", ":", "1", "65536"};
  Random random(2, Purpose::kTest);
  int taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = "mqtt://a";
    for (std::uint64_t left = random.Below(7); left > 0; --left) {
      text += kPieces[random.Below(std::size(kPieces))];
    }
    const std::optional<MqttAddress> expected = SlowParse(text);
    if (!expected) {
      EXPECT_THAT(MessageOf([&] { ParseMqtt(text); }), HasSubstr("not of the form mqtt://"))
          << text;
      continue;
    }
    ++taken;
    const MqttAddress address = ParseMqtt(text);
    EXPECT_EQ(address.host, expected->host) << text;
    EXPECT_EQ(address.port, expected->port) << text;
    EXPECT_EQ(address.topic, expected->topic) << text;
  }
  EXPECT_GT(taken, 1000);
}

}  // namespace
}  // namespace polykern
