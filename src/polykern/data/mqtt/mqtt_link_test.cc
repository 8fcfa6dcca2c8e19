#include "polykern/data/mqtt/mqtt_link.h"

#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/data/mqtt/broker_testing.h"

namespace polykern {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// What the constructor throws.
std::string OpeningError(const MqttAddress& address, bool subscribes = true) {
  return MessageOf([&] { const MqttLink link(address, "client", subscribes, IgnoreNews); });
}

class AnMqttLink : public testing::Test {
 protected:
  void SetUp() override {
    if (!TestBroker::Exists()) GTEST_SKIP() << "mosquitto is not installed";
  }
};

TEST_F(AnMqttLink, BringsWhatIsPublishedInOrder) {
  TestBroker broker;
  MqttLink reader(broker.Address("site/+/x"), "reader", true, IgnoreNews);
  MqttLink first(broker.Address("site/1/x"), "first", false, IgnoreNews);
  MqttLink second(broker.Address("site/2/x"), "second", false, IgnoreNews);
  MqttLink elsewhere(broker.Address("site/1/y"), "elsewhere", false, IgnoreNews);
  const std::string long_one(100'000, 'x');
  for (const std::string& payload : {std::string("a"), std::string(), std::string("b\0c\n", 4)}) {
    first.Publish(payload);
    elsewhere.Publish("not asked for");
    second.Publish(payload + long_one);
  }
  for (const std::string& payload : {std::string("a"), std::string(), std::string("b\0c\n", 4)}) {
    EXPECT_EQ(reader.Receive().payload, payload);
    EXPECT_EQ(reader.Receive().payload, payload + long_one);
  }
}

/// What was received is not acknowledged before the next is asked for: who dies then gets it again.
TEST_F(AnMqttLink, GetsAgainWhatItHadNotFinishedWith) {
  TestBroker broker;
  MqttLink writer(broker.Address("x"), "writer", false, IgnoreNews);
  {
    MqttLink reader(broker.Address("x"), "reader", true, IgnoreNews);
    for (const char* payload : {"1", "2", "3", "4"}) writer.Publish(payload);
    const MqttMessage first = reader.Receive();
    EXPECT_EQ(first.payload, "1");
    EXPECT_TRUE(first.first);
    const MqttMessage second = reader.Receive();
    EXPECT_EQ(second.payload, "2");
    EXPECT_FALSE(second.first);
  }
  MqttLink reader(broker.Address("x"), "reader", true, IgnoreNews);
  MqttMessage message = reader.Receive();
  EXPECT_TRUE(message.first);
  if (message.payload == "1") message = reader.Receive();  // acknowledged on its way to the broker
  EXPECT_EQ(message.payload, "2");
  EXPECT_EQ(reader.Receive().payload, "3");
  EXPECT_EQ(reader.Receive().payload, "4");
}

TEST_F(AnMqttLink, FindsWhatWasPublishedWhileItWasAway) {
  TestBroker broker;
  { const MqttLink reader(broker.Address("x"), "reader", true, IgnoreNews); }
  MqttLink writer(broker.Address("x"), "writer", false, IgnoreNews);
  writer.Publish("meanwhile");
  MqttLink reader(broker.Address("x"), "reader", true, IgnoreNews);
  EXPECT_EQ(reader.Receive().payload, "meanwhile");
}

TEST_F(AnMqttLink, WaitsForABrokerThatStops) {
  TestBroker broker;
  std::vector<std::string> news;
  MqttLink reader(broker.Address("x"), "reader", true,
                  [&](const std::string& line) { news.push_back(line); });
  MqttLink writer(broker.Address("x"), "writer", false, IgnoreNews);
  std::string received;
  broker.Stop();
  std::jthread reads([&] { received = reader.Receive().payload; });
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  broker.Start();
  writer.Publish("after");  // it has not noticed yet that its connection is gone
  reads.join();
  EXPECT_EQ(received, "after");
  writer.Publish("more");  // what its session had comes before the broker says that all is well
  EXPECT_EQ(reader.Receive().payload, "more");
  EXPECT_THAT(news, ElementsAre(AllOf(HasSubstr("mqtt://127.0.0.1:"), HasSubstr("waiting for it")),
                                HasSubstr("it is back")));
}

/// A message under way when the connection was lost arrives, and once.
TEST_F(AnMqttLink, PublishesOnceAcrossARestart) {
  TestBroker broker;
  { const MqttLink session(broker.Address("x"), "reader", true, IgnoreNews); }
  MqttLink writer(broker.Address("x"), "writer", false, IgnoreNews);
  for (const char* payload : {"1", "2", "3"}) {
    broker.Stop();
    broker.Start();
    writer.Publish(payload);
  }
  MqttLink reader(broker.Address("x"), "reader", true, IgnoreNews);
  for (const char* payload : {"1", "2", "3"}) EXPECT_EQ(reader.Receive().payload, payload);
}

TEST_F(AnMqttLink, SaysThatNobodyListens) {
  TestBroker broker;
  broker.Kill();
  EXPECT_THAT(OpeningError(broker.Address("x")),
              AllOf(HasSubstr("/x: cannot connect (Connection refused)"),
                    HasSubstr("is the broker running?")));
}

TEST_F(AnMqttLink, SaysWhoMayNotComeIn) {
  TestBroker broker("allow_anonymous false\n");
  MqttAddress address = broker.Address("x");
  EXPECT_THAT(OpeningError(address),
              AllOf(HasSubstr("the broker refuses"), HasSubstr("name a user that may")));
  address.user = "anna";
  address.password = "secret";
  EXPECT_THAT(OpeningError(address),
              AllOf(HasSubstr("check user and password"), Not(HasSubstr("secret"))));
}

TEST_F(AnMqttLink, SaysWhichTopicsCannotBe) {
  TestBroker broker;
  EXPECT_THAT(OpeningError(broker.Address("a/#/b")), HasSubstr("not a topic"));
  for (const char* wild : {"a/+", "#"}) {
    EXPECT_EQ(OpeningError(broker.Address(wild)), "no Error was thrown");
    EXPECT_THAT(OpeningError(broker.Address(wild), false),
                HasSubstr("a topic to publish to cannot contain + or #"));
  }
}

}  // namespace
}  // namespace polykern
