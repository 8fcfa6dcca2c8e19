#include "polykern/agent_c.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "polykern/net/agent/agent.h"
#include "polykern/net/agent/federation_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

/// A federation of three inputs in [0, 10], and labels from 100 to 300.
class AnAgentInC : public testing::Test {
 protected:
  AnAgentInC() {
    federation.configuration.scaling = "range";
    for (const char* name : {"a", "b", "c"}) {
      federation.configuration.columns.push_back({name, 0, 10});
    }
    federation.configuration.target = {"y", 100, 300};
    federation.server_options.insecure = true;
  }
  ~AnAgentInC() override { polykern_agent_close(agent, 0); }

  polykern_result Open(const char* state = nullptr) {
    address = federation.address();
    const polykern_agent_options options = {
        .server = address.c_str(), .certificates = nullptr, .name = "mill", .state = state};
    return polykern_agent_open(&options, &agent);
  }
  polykern_result Predict(const std::vector<double>& x, double patience = 10) {
    return polykern_agent_predict(agent, x.data(), x.size(), patience, &made);
  }

  TestFederation federation;
  std::string address;
  polykern_agent* agent = nullptr;
  polykern_prediction made{};
};

TEST_F(AnAgentInC, PredictsAndLearnsInTheFederationsUnits) {
  federation.Start();
  ASSERT_EQ(Open(), POLYKERN_OK) << polykern_error_text();
  for (std::uint64_t step = 0; step < 30; ++step) {
    ASSERT_EQ(Predict({1, 2, 3}), POLYKERN_OK) << polykern_error_text();
    EXPECT_EQ(made.step, step);
    EXPECT_GE(made.value, 100);
    EXPECT_LE(made.value, 300);
    ASSERT_EQ(polykern_agent_learn(agent, 250), POLYKERN_OK) << polykern_error_text();
  }
  EXPECT_STREQ(polykern_error_text(), "");
  EXPECT_GT(made.value, 150);  // it began at 100
}

TEST_F(AnAgentInC, HasTheBitsOfOneInCpp) {
  federation.Start();
  ASSERT_EQ(Open(), POLYKERN_OK);
  std::vector<double> in_c;
  for (int step = 0; step < 5; ++step) {
    ASSERT_EQ(Predict({1.0 * step, 2, 3}), POLYKERN_OK);
    in_c.push_back(made.value);
    ASSERT_EQ(polykern_agent_learn(agent, 120 + step), POLYKERN_OK);
  }
  polykern_agent_close(agent, 10);
  agent = nullptr;
  TestFederation other;
  other.configuration = federation.configuration;
  other.server_options.insecure = true;
  other.Start();
  Agent in_cpp({.link = {.server = other.address(), .insecure = true, .name = "mill"}});
  for (int step = 0; step < 5; ++step) {
    ASSERT_TRUE(in_cpp.WaitForStep(std::chrono::seconds(10)));
    // [0, 10] becomes [-1, 1], and [100, 300] becomes [0, 1].
    const std::vector<float> x = {static_cast<float>(-1 + 2 * (step / 10.0)), -0.6F, -0.4F};
    const double value = in_cpp.Predict(x).value;
    EXPECT_NEAR(in_c[static_cast<std::size_t>(step)], 100 + 200 * std::clamp(value, 0.0, 1.0),
                1e-4);
    in_cpp.Learn((20 + step) / 200.0);
  }
}

TEST_F(AnAgentInC, ResumesFromItsState) {
  federation.Start();
  const std::string state = federation.folder.At("mill.state");
  ASSERT_EQ(Open(state.c_str()), POLYKERN_OK);
  ASSERT_EQ(Predict({1, 2, 3}), POLYKERN_OK);
  ASSERT_EQ(polykern_agent_learn(agent, 250), POLYKERN_OK);
  polykern_agent_close(agent, 10);
  ASSERT_EQ(Open(state.c_str()), POLYKERN_OK);
  ASSERT_EQ(Predict({1, 2, 3}), POLYKERN_OK);
  EXPECT_EQ(made.step, 1U);
  polykern_agent* second = nullptr;
  const polykern_agent_options same = {
      .server = address.c_str(), .certificates = nullptr, .name = "mill", .state = state.c_str()};
  EXPECT_EQ(polykern_agent_open(&same, &second), POLYKERN_REFUSED);
  EXPECT_EQ(second, nullptr);
  EXPECT_THAT(polykern_error_text(), HasSubstr("mill.state"));
}

TEST_F(AnAgentInC, SaysWhatIsWrongWithASampleAndContinues) {
  federation.Start();
  ASSERT_EQ(Open(), POLYKERN_OK);
  EXPECT_EQ(Predict({1, 2}), POLYKERN_BAD_SAMPLE);
  EXPECT_STREQ(polykern_error_text(), "a sample has 3 inputs, not 2");
  EXPECT_EQ(Predict({1, 2, kNotANumber}), POLYKERN_BAD_SAMPLE);
  EXPECT_EQ(Predict({1, 2, HUGE_VAL}), POLYKERN_BAD_SAMPLE);
  EXPECT_EQ(polykern_agent_learn(agent, 200), POLYKERN_WRONG_CALL);  // there is no prediction
  EXPECT_THAT(polykern_error_text(), HasSubstr("predict first"));
  EXPECT_EQ(Predict({1, 2, 3}), POLYKERN_OK);
  EXPECT_EQ(polykern_agent_learn(agent, kNotANumber), POLYKERN_BAD_SAMPLE);
  EXPECT_EQ(polykern_agent_learn(agent, 200), POLYKERN_OK);
  EXPECT_EQ(polykern_agent_learn(agent, 200), POLYKERN_WRONG_CALL);
}

TEST_F(AnAgentInC, ALabelOfAnAnsweredStepIsNotLearnt) {
  federation.rounds_options.roster = {"mill",
                                      "lathe"};  // who never comes, so that the step stays open
  federation.Start();
  ASSERT_EQ(Open(), POLYKERN_OK);
  ASSERT_EQ(Predict({1, 2, 3}), POLYKERN_OK);
  EXPECT_EQ(polykern_agent_learn(agent, 200), POLYKERN_OK);
  ASSERT_EQ(Predict({1, 2, 3}, 0), POLYKERN_OK);
  EXPECT_EQ(polykern_agent_learn(agent, 200), POLYKERN_NOT_LEARNT);
  EXPECT_THAT(polykern_error_text(), HasSubstr("was answered before"));
}

TEST_F(AnAgentInC, WithoutAServerThereIsNoModel) {
  const polykern_agent_options options = {
      .server = "127.0.0.1:1", .certificates = nullptr, .name = "mill", .state = nullptr};
  ASSERT_EQ(polykern_agent_open(&options, &agent), POLYKERN_OK);
  EXPECT_EQ(Predict({1, 2, 3}, 0.3), POLYKERN_NO_MODEL);
  EXPECT_THAT(polykern_error_text(), HasSubstr("nothing listens there"));
}

TEST_F(AnAgentInC, AFederationThatAsksForMoreThanNumbersIsRefusedByName) {
  federation.configuration.time = "when";
  federation.Start();
  ASSERT_EQ(Open(), POLYKERN_OK);
  EXPECT_EQ(Predict({1, 2, 3}), POLYKERN_REFUSED);
  EXPECT_STREQ(polykern_error_text(),
               "the federation asks for the times of samples; use polykern-agent");
}

TEST_F(AnAgentInC, NullPointersAndBadOptionsDoNotCrash) {
  EXPECT_EQ(polykern_agent_open(nullptr, &agent), POLYKERN_WRONG_CALL);
  EXPECT_EQ(polykern_agent_open(nullptr, nullptr), POLYKERN_WRONG_CALL);
  EXPECT_EQ(polykern_agent_predict(nullptr, nullptr, 0, 0, nullptr), POLYKERN_WRONG_CALL);
  EXPECT_EQ(polykern_agent_learn(nullptr, 0), POLYKERN_WRONG_CALL);
  polykern_agent_close(nullptr, 0);
  const polykern_agent_options nowhere = {
      .server = nullptr, .certificates = "/no/where", .name = nullptr, .state = nullptr};
  EXPECT_EQ(polykern_agent_open(&nowhere, &agent), POLYKERN_REFUSED);
  EXPECT_THAT(polykern_error_text(), HasSubstr("polykern pki issue"));
  const polykern_agent_options nobody{};
  EXPECT_EQ(polykern_agent_open(&nobody, &agent), POLYKERN_REFUSED);
}

}  // namespace
}  // namespace polykern
