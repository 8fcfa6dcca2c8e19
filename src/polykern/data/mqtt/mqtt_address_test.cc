#include "polykern/data/mqtt/mqtt_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace polykern
