#include "polykern/net/agent/agent.h"

#include <array>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "polykern/federation/client.h"
#include "polykern/federation/coordinator.h"
#include "polykern/net/agent/federation_testing.h"

namespace polykern {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr milliseconds kLong{60'000};  // nothing waits for it unless something is wrong
constexpr std::array<float, 3> kSample = {0.1F, -0.2F, 0.3F};

/// Agents beside a real server on the loopback, with real certificates.
class AgentOverTls : public testing::Test {
 protected:
  AgentOverTls() {
    options.link.first_wait = milliseconds(5);
    options.link.longest_wait = milliseconds(20);
    options.link.refused_wait = milliseconds(20);
    options.link.certificates = federation.folder.At("a");
    options.state = federation.folder.At("a.state");
    IssueClient(federation.pki(), "a", {.out = options.link.certificates});
  }

  void Start() {
    federation.Start();
    options.link.server = federation.address();
  }
  /// So that an agent that waits for it does: a step of one client ends when that one has answered.
  static bool Answer(Agent& agent, double y = 0.5, const InputPosition& position = {}) {
    EXPECT_TRUE(agent.WaitForStep(kLong));
    agent.Predict(kSample);
    return agent.Learn(y, position);
  }
  /// Waits for something that the agent's threads do.
  template <typename Condition>
  static bool Eventually(Condition holds) {
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    while (!holds() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    return holds();
  }
  /// Why the server will not have it, once the agent knows.
  static std::string FailureOf(const Agent& agent) {
    Eventually([&] { return agent.status().failure.has_value(); });
    return MessageOf([&] { throw agent.status().failure.value_or(Error("none came")); });
  }

  TestFederation federation;
  AgentOptions options;
};

TEST_F(AgentOverTls, IsTheOnlyOneOfItsState) {
  Start();
  std::filesystem::create_symlink(options.state, federation.folder.At("link"));
  {
    Agent agent(options);
    EXPECT_TRUE(Answer(agent));
    EXPECT_THAT(MessageOf([&] { const Agent second(options); }),
                HasSubstr("another agent uses this state"));
    AgentOptions linked = options;
    linked.state = federation.folder.At("link");
    EXPECT_THAT(MessageOf([&] { const Agent second(linked); }),
                HasSubstr("another agent uses this state"));
  }
  const Agent next(options);
}

TEST_F(AgentOverTls, LearnsStepByStep) {
  Start();
  Agent agent(options);
  for (int k = 0; k < 5; ++k) EXPECT_TRUE(Answer(agent));
  EXPECT_TRUE(agent.WaitUntilCounted(kLong));
  const AgentStatus status = agent.status();
  EXPECT_TRUE(status.connected);
  EXPECT_TRUE(status.ready);
  EXPECT_EQ(status.learnt, 5U);
  EXPECT_EQ(status.step, 5U);
  EXPECT_EQ(status.trouble, "");
  EXPECT_EQ(federation.status().accepted, 5U);
  EXPECT_EQ(agent.configuration().problem.dimension, 3U);
}

TEST_F(AgentOverTls, GivesTheBitsOfTheSameRoundsWithoutANetwork) {
  Start();
  std::vector<double> values;
  Agent agent(options);
  for (int k = 0; k < 5; ++k) {
    ASSERT_TRUE(agent.WaitForStep(kLong));
    values.push_back(agent.Predict(kSample).value);
    ASSERT_TRUE(agent.Learn(0.7));
  }
  // The same by hand: one client, whose updates are all that the server gets.
  const std::unique_ptr<Algorithm> algorithm = MakeAlgorithm(federation.configuration);
  Clients client(*algorithm, 0, 1);
  ClientRound round(*algorithm);
  Coordinator coordinator(*algorithm, 1);
  for (const double value : values) {
    round.Predict(coordinator.broadcast(), client, 0, kSample, std::array<std::uint8_t, 1>{1});
    EXPECT_EQ(algorithm->loss().Predicted(round.predictions()[0]), value);
    coordinator.Receive(round.Learn(std::array{0.7}));
    coordinator.Commit();
  }
}

TEST_F(AgentOverTls, SaysWhatItCannotDoWithoutAModel) {
  Start();
  options.link.server = "127.0.0.1:1";  // nobody is there
  Agent agent(options);
  EXPECT_THAT(MessageOf([&] { agent.Predict(kSample); }), HasSubstr("no model has come"));
  EXPECT_THAT(MessageOf([&] { agent.configuration(); }), HasSubstr("no model has come"));
  EXPECT_FALSE(agent.WaitForStep(milliseconds(1)));
  EXPECT_TRUE(agent.WaitUntilCounted(milliseconds(0)));
  ASSERT_TRUE(Eventually([&] { return !agent.status().trouble.empty(); }));
  EXPECT_FALSE(agent.status().connected);
  EXPECT_FALSE(agent.status().failure);  // it may be there later
}

TEST_F(AgentOverTls, RefusesCertificatesThatCannotBeUsed) {
  options.link.certificates = federation.folder.At("none");
  EXPECT_THAT(MessageOf([&] { Agent agent(options); }), HasSubstr("polykern pki issue NAME"));
  options.link.insecure = true;
  for (const char* name : {"", "a b", ".."}) {
    options.link.name = name;
    EXPECT_THAT(MessageOf([&] { Agent agent(options); }),
                HasSubstr("a name of its own: give name"));
  }
}

TEST_F(AgentOverTls, RefusesAStateThatIsNone) {
  federation.folder.Write("a.state", "not a state");
  EXPECT_THAT(MessageOf([&] { Agent agent(options); }), HasSubstr("not an agent's state"));
}

TEST_F(AgentOverTls, ResumesWhereAnEarlierProcessWas) {
  Start();
  double before = 0;
  {
    Agent agent(options);
    for (std::uint64_t line = 1; line <= 3; ++line) {
      Answer(agent, 0.9, {.line = line, .bytes = 10 * line, .sum = 100 * line});
    }
    ASSERT_TRUE(agent.WaitUntilCounted(kLong));
  }
  {
    Agent again(options);
    EXPECT_EQ(again.position().line, 3U);
    EXPECT_EQ(again.position().sum, 300U);
    EXPECT_TRUE(
        again.status().ready);  // with the model it learnt with, even before it is connected
    ASSERT_TRUE(again.WaitForStep(kLong));
    before = again.Predict(kSample).value;
  }
  std::filesystem::remove(options.state);
  Agent anew(options);
  ASSERT_TRUE(anew.WaitForStep(kLong));
  EXPECT_EQ(anew.position().line, 0U);
  EXPECT_NE(anew.Predict(kSample).value, before);  // its own weights of the kernels are forgotten
}

TEST_F(AgentOverTls, KeepsItsAnswerUntilAServerComesBackAndCountsIt) {
  federation.rounds_options.quorum.count = 2;  // the step cannot end with this agent alone
  Start();
  {
    Agent agent(options);
    EXPECT_TRUE(Answer(agent));
    EXPECT_FALSE(agent.WaitForStep(milliseconds(0)));
    agent.Predict(kSample);
    EXPECT_FALSE(agent.Learn(0.5));
    EXPECT_EQ(agent.status().unlearnt, 1U);
  }
  federation.Stop();  // the open step is forgotten with the process
  federation.rounds_options.quorum.count = 1;
  Start();
  Agent again(options);
  EXPECT_TRUE(again.WaitUntilCounted(kLong));
  EXPECT_EQ(federation.status().accepted, 1U);
  EXPECT_EQ(federation.status().step, 1U);
}

TEST_F(AgentOverTls, PredictsWhileTheServerIsAwayAndComesBackToIt) {
  Start();
  Agent agent(options);
  Answer(agent);
  ASSERT_TRUE(agent.WaitUntilCounted(kLong));
  federation.Stop();
  ASSERT_TRUE(Eventually([&] { return !agent.status().connected; }));
  EXPECT_NE(agent.status().trouble, "");
  EXPECT_EQ(agent.Predict(kSample).step, 1U);
  EXPECT_TRUE(agent.Learn(0.5));  // sent when there is a server
  Start();
  EXPECT_TRUE(agent.WaitUntilCounted(kLong));
  EXPECT_TRUE(agent.status().connected);
  EXPECT_EQ(agent.status().trouble, "");
  EXPECT_EQ(federation.status().step, 2U);
}

TEST_F(AgentOverTls, NoticesTheEndOfTheFederation) {
  federation.rounds_options.steps = 2;
  Start();
  Agent agent(options);
  Answer(agent);
  Answer(agent);
  EXPECT_TRUE(agent.WaitUntilCounted(kLong));
  EXPECT_TRUE(agent.WaitForStep(kLong));
  EXPECT_TRUE(agent.status().finished);
  agent.Predict(kSample);
  EXPECT_FALSE(agent.Learn(0.5));
}

TEST_F(AgentOverTls, IsRefusedOnceItsCertificateIsRevokedAndLetInWithANewOne) {
  Start();
  Agent agent(options);
  Answer(agent);
  ASSERT_TRUE(agent.WaitUntilCounted(kLong));
  RevokeClient(federation.pki(), "a");
  EXPECT_THAT(FailureOf(agent), HasSubstr("the server refuses this agent: the certificate is rev"));
  EXPECT_THROW(agent.WaitForStep(kLong), Error);
  EXPECT_EQ(agent.Predict(kSample).step, 1U);  // with what it has
  IssueClient(federation.pki(), "a", {.out = options.link.certificates});
  ASSERT_TRUE(Eventually([&] { return agent.status().connected; }));
  EXPECT_FALSE(agent.status().failure);
  EXPECT_TRUE(agent.WaitForStep(kLong));
}

TEST_F(AgentOverTls, IsRefusedByAnotherFederationThanTheOneOfItsState) {
  Start();
  {
    Agent agent(options);
    Answer(agent);
    ASSERT_TRUE(agent.WaitUntilCounted(kLong));
  }
  federation.Stop();
  std::filesystem::remove(federation.folder.At("store.db"));
  federation.configuration.problem.seed = 99;
  Start();
  Agent agent(options);
  EXPECT_THAT(FailureOf(agent), HasSubstr("not the one this agent has learnt with (seed: "));
  EXPECT_FALSE(agent.status().connected);
}

TEST_F(AgentOverTls, IsNotOfAServerThatAnotherAuthorityCertified) {
  Start();
  InitAuthority(federation.folder.At("other"), {.hosts = {"127.0.0.1"}});
  options.link.certificates = federation.folder.At("stranger");
  IssueClient(federation.folder.At("other"), "a", {.out = options.link.certificates});
  Agent agent(options);
  ASSERT_TRUE(Eventually([&] { return !agent.status().trouble.empty(); }));
  EXPECT_FALSE(agent.WaitForStep(milliseconds(50)));
  EXPECT_FALSE(agent.status().connected);
  EXPECT_EQ(federation.status().connected, 0U);
}

TEST_F(AgentOverTls, SaysItsNameWhereNoCertificatesAreAskedFor) {
  federation.server_options.insecure = true;
  Start();
  options.link.insecure = true;
  options.link.name = "anna";
  Agent agent(options);
  EXPECT_TRUE(Answer(agent));
  EXPECT_TRUE(agent.WaitUntilCounted(kLong));
}

TEST_F(AgentOverTls, ComesBackWhenAFullServerHasRoom) {
  federation.rounds_options.most_connected = 1;
  federation.rounds_options.retry_earliest = milliseconds(1);
  federation.rounds_options.retry_latest = milliseconds(10);
  Start();
  auto first = std::make_unique<Agent>(options);
  ASSERT_TRUE(first->WaitForStep(kLong));
  AgentOptions other = options;
  other.state.clear();
  other.link.certificates = federation.folder.At("b");
  IssueClient(federation.pki(), "b", {.out = other.link.certificates});
  Agent second(other);
  ASSERT_TRUE(Eventually([&] { return !second.status().trouble.empty(); }));
  EXPECT_FALSE(second.status().failure);
  first.reset();
  EXPECT_TRUE(second.WaitForStep(kLong));
}

TEST_F(AgentOverTls, TellsHowWellItPredictsIfItIsAsked) {
  Start();
  options.report = true;
  Agent agent(options);
  for (int k = 0; k < 3; ++k) Answer(agent);
  ASSERT_TRUE(agent.WaitUntilCounted(kLong));
  EXPECT_EQ(agent.status().report.predictions, 3U);
  EXPECT_GT(agent.status().report.squared_error, 0);
  while (federation.status().reporting == 0) Answer(agent);  // what matters less comes later
  EXPECT_GT(federation.status().reported_squared_error, 0);
}

TEST_F(AgentOverTls, SurvivesAStateThatCannotBeWritten) {
  Start();
  options.state = federation.folder.At("no/such/folder/a.state");
  Agent agent(options);
  ASSERT_TRUE(agent.WaitForStep(kLong));
  agent.Predict(kSample);
  EXPECT_FALSE(agent.Learn(0.5));
  EXPECT_EQ(agent.status().learnt, 0U);
  EXPECT_THAT(agent.status().not_learnt, HasSubstr("no/such/folder/a.state"));
  std::filesystem::create_directories(federation.folder.At("no/such/folder"));
  agent.Predict(kSample);
  EXPECT_TRUE(agent.Learn(0.5));
  EXPECT_TRUE(agent.WaitUntilCounted(kLong));
}

TEST_F(AgentOverTls, TellsItsRangesAndIsWelcomedAgain) {
  federation.configuration.scaling = "range";
  federation.configuration.columns = {{"u"}, {"v"}, {"w"}};
  federation.configuration.learn_ranges = 2;
  federation.rounds_options.roster = {"a"};
  Start();
  Agent agent(options);
  ASSERT_TRUE(Eventually([&] { return agent.learning_ranges().has_value(); }));
  EXPECT_FALSE(agent.status().ready);
  EXPECT_THAT(MessageOf([&] { agent.Predict(kSample); }), HasSubstr("learns its ranges"));
  federation.Stop();
  agent.TellRanges({{0, 0, 0, 0}, {10, 10, 10, 100}});
  federation.Start();
  EXPECT_TRUE(Answer(agent)) << "told when it was connected again";
  EXPECT_EQ(agent.configuration().columns[2].high, 11);
  EXPECT_EQ(agent.configuration().target.low, -10);
  EXPECT_FALSE(agent.learning_ranges());
  EXPECT_TRUE(agent.WaitUntilCounted(kLong));
}

}  // namespace
}  // namespace polykern
