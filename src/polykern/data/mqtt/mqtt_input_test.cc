#include "polykern/data/mqtt/mqtt_input.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/random.h"
#include "polykern/data/mqtt/broker_testing.h"

namespace polykern {
namespace {

using testing::ElementsAre;

std::string Line(MqttInput& input) {
  std::string line;
  std::getline(input, line);
  return line;
}

class AnMqttInput : public testing::Test {
 protected:
  void SetUp() override {
    if (!TestBroker::Exists()) GTEST_SKIP() << "mosquitto is not installed";
    broker_.emplace();
    // The session begins; what is published from now on reaches it.
    MqttInput(broker_->Address("x"), "reader", IgnoreNews);
    writer_.emplace(broker_->Address("x"), "writer", false, IgnoreNews);
  }
  MqttInput Open() { return MqttInput(broker_->Address("x"), "reader", IgnoreNews); }

  std::optional<TestBroker> broker_;
  std::optional<MqttLink> writer_;
};

TEST_F(AnMqttInput, MakesALineOfEachMessage) {
  for (const char* payload : {R"({"y": 1})", "{\"y\":\r\n 2}\n", "  {\"y\": 3}"}) {
    writer_->Publish(payload);
  }
  auto input = Open();
  EXPECT_EQ(Line(input), R"({"y": 1})");
  EXPECT_EQ(Line(input), "{\"y\":   2} ");
  EXPECT_EQ(Line(input), "  {\"y\": 3}");
}

/// A header of CSV would change what all later lines mean.
TEST_F(AnMqttInput, TakesWhatIsNoObjectForABadLine) {
  for (const char* payload : {"a,b,y", "", " \t", "[1]"}) writer_->Publish(payload);
  auto input = Open();
  EXPECT_EQ(Line(input), "{a,b,y");
  EXPECT_EQ(Line(input), "{");
  EXPECT_EQ(Line(input), "{ \t");
  EXPECT_EQ(Line(input), "{[1]");
}

TEST_F(AnMqttInput, PassesOverWhatWasDoneWithBefore) {
  for (const char* payload : {"{1}", "{2}", "{3}"}) writer_->Publish(payload);
  InputPosition position;
  {
    auto input = Open();
    EXPECT_EQ(Line(input), "{1}");
    EXPECT_EQ(Line(input), "{2}");
    input.Mark(position);
  }
  EXPECT_EQ(position.messages.size(), 2U);
  auto input = Open();
  input.Resume(position);
  EXPECT_EQ(Line(input), "{3}");
}

/// Without the position nothing is known to be done with, and nothing may be lost.
TEST_F(AnMqttInput, ReadsAgainWhatNobodyHasKept) {
  writer_->Publish("{1}");
  {
    auto input = Open();
    EXPECT_EQ(Line(input), "{1}");
  }
  auto input = Open();
  EXPECT_EQ(Line(input), "{1}");
}

/// Equal payloads are different messages.
TEST_F(AnMqttInput, KeepsMessagesApartThatSayTheSame) {
  for (int i = 0; i < 3; ++i) writer_->Publish("{same}");
  writer_->Publish("{end}");
  auto input = Open();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Line(input), "{same}");
  EXPECT_EQ(Line(input), "{end}");
}

/// Readers that die at any time, brokers that stop: what the position that survived knows of, and
/// what comes after, is every message once and in order.
TEST_F(AnMqttInput, ReadsEveryMessageOnceWhateverEnds) {
  constexpr int kMessages = 40;
  Random random(5, Purpose::kTest);
  InputPosition kept;
  std::vector<std::string> done;
  int published = 0;
  while (done.size() < kMessages) {
    auto input = Open();
    input.Resume(kept);
    for (std::uint64_t left = random.Below(6); left > 0 && done.size() < kMessages; --left) {
      while (published < kMessages && published < static_cast<int>(done.size() + 4)) {
        writer_->Publish("{" + std::to_string(published++) + "}");
      }
      const std::string line = Line(input);
      if (random.Uniform() < 0.2) break;  // dies before it has kept what it learnt
      input.Mark(kept);
      done.push_back(line);
    }
    if (random.Uniform() < 0.2) {
      broker_->Stop();
      broker_->Start();
    }
  }
  for (int i = 0; i < kMessages; ++i) EXPECT_EQ(done[i], "{" + std::to_string(i) + "}");
}

TEST_F(AnMqttInput, RemembersNoMoreThanABrokerSendsAgain) {
  auto input = Open();
  InputPosition position;
  for (int i = 0; i < 300; ++i) {
    writer_->Publish("{}");
    Line(input);
  }
  input.Mark(position);
  EXPECT_EQ(position.messages.size(), 256U);
}

}  // namespace
}  // namespace polykern
