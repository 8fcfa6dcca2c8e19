// What pof-gram's server makes of sums that cannot be.
#include <functional>

#include <gmock/gmock.h>

#include "polykern/algorithms/gram/gram_server_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(GramServers, DiscardSumsThatNoSamplesHave) {
  const auto server = NewGramServer(grid_, rule_);
  Step(*server, Answers({0}));
  const std::vector<float> before = server->broadcast().model;
  auto updates = Answers({0, 1});
  // A product of two features that is larger than their squares allow: each number alone could be.
  updates[3].integers[1] += 3ULL << 36U;
  Step(*server, updates);
  ASSERT_EQ(server->discarded().size(), 1U);
  EXPECT_THAT(server->discarded()[0], HasSubstr("expert 0 at step 1"));
  // Expert 1 is right, and holds what expert 0 should have got.
  EXPECT_NE(server->broadcast().model, before);
  Step(*server, Answers({3}));
  EXPECT_THAT(server->discarded(), IsEmpty());
}

TEST_F(GramServers, DiscardedSumsChangeNothing) {
  const auto server = NewGramServer(grid_, rule_);
  Step(*server, Answers({0}));
  const std::vector<float> before = server->broadcast().model;
  auto updates = Answers({3});
  updates[0].integers[1] -= 7ULL << 36U;
  Step(*server, updates);
  EXPECT_EQ(server->discarded().size(), 1U);
  EXPECT_EQ(server->broadcast().model, before);
}

TEST_F(GramServers, DiscardWhatMayNotBeSeen) {
  const auto server = NewGramServer(grid_, rule_);
  Commit(*server, Answers({0}), 1);
  server->releases()[0].refusal = "too few";
  server->Open();
  EXPECT_THAT(server->broadcast().model, testing::Each(0));
  EXPECT_THAT(server->discarded(), testing::ElementsAre(HasSubstr("too few")));
}

TEST_F(GramServers, DiscardWhatIsStillMasked) {
  // As it is where a server misreports what is in a sum, or its helper lies.
  const auto server = NewGramServer(grid_, rule_);
  Step(*server, Answers({0}));
  const std::vector<float> before = server->broadcast().model;
  Random random(3, Purpose::kTest);
  for (const std::uint32_t expert : {0U, 1U, 2U, 5U}) {
    for (int times = 0; times < 20; ++times) {
      Commit(*server, Answers({expert}), 1);
      ASSERT_EQ(server->releases().size(), 1U);
      for (std::int64_t& sum : server->releases()[0].sums) {
        sum = static_cast<std::int64_t>(random.Bits());
      }
      server->Open();
      EXPECT_EQ(server->discarded().size(), 1U);
      EXPECT_EQ(server->broadcast().model, before);
    }
  }
}

TEST_F(GramServers, DivideLaterSumsUntilItIsKnownWhoSpoilsThem) {
  rule_.divides = true;
  rule_.schedule.least_clients = 2;
  const auto server = NewGramServer(grid_, rule_);
  const auto stopped = NewGramServer(grid_, rule_);
  constexpr std::uint64_t kCulprit = 3;
  const auto spoil = [&](const std::vector<std::uint32_t>& turn) {
    std::vector<Updates> updates = Answers(turn);
    for (Updates& each : updates) {
      each.nonces = {{static_cast<std::uint8_t>(each.clients[0] + 1)}};
      if (each.clients[0] == kCulprit) each.integers[1] += 3ULL << 36U;
    }
    Step(*server, updates);
  };
  spoil({0});
  ASSERT_EQ(server->discarded().size(), 1U);
  EXPECT_THAT(server->discarded()[0],
              HasSubstr("the next sums are divided in two; clients in this one: 0, 1, 2, 3, 4"));
  EXPECT_EQ(server->broadcast().releases, 1U);
  std::vector<std::string> said;
  for (int turn = 0; turn < 3; ++turn) {
    stopped->Load(server->broadcast().step, server->Save());
    EXPECT_EQ(stopped->Save(), server->Save());
    const std::vector<float> before = server->broadcast().model;
    const std::uint32_t expert = turn % 2 == 0 ? 3 : 0;
    spoil({expert});  // two clients have 20 samples without the larger one's: they wait
    EXPECT_EQ(server->broadcast().releases, static_cast<std::uint64_t>(1 + 2 * turn));
    spoil({expert});
    EXPECT_EQ(server->broadcast().releases, static_cast<std::uint64_t>(3 + 2 * turn));
    ASSERT_EQ(server->discarded().size(), 1U) << "one of two groups";
    EXPECT_NE(server->broadcast().model, before) << "the other's sum is used";
    said.push_back(server->discarded()[0]);
  }
  EXPECT_THAT(said.back(), testing::EndsWith("; clients in this and all bad sums before it: 3"));
}

TEST_F(GramServers, FindWhoHidesNumbersBehindMasksThatNoSamplesHave) {
  // Each of these matrices is one that products can have, and no number is too large.
  const std::size_t labels = GramGrid::EquationsSize(grid_.WidthOf(0));
  const struct {
    const char* found;
    std::function<void(Updates&)> spoil;
  } kinds[] = {{"norm",
                [](Updates& u) {
                  for (auto& each : u.integers) each *= 2;
                }},
               {"norm", [](Updates& u) { u.integers[0] += 1ULL << 36U; }},
               {"labels", [&](Updates& u) { u.integers[labels] += 40ULL << 36U; }},
               {"sum to 1", [&](Updates& u) { u.integers[labels + 1] += 1ULL << 36U; }},
               {"negative", [&](Updates& u) {
                  u.integers[labels + 1] += 9ULL << 36U;
                  u.integers[labels + 2] -= 9ULL << 36U;
                }}};
  for (const auto& kind : kinds) {
    rule_.divides = true;
    rule_.schedule.least_clients = 2;
    const auto server = NewGramServer(grid_, rule_);
    std::string said;
    for (int step = 0; step < 16 && !said.ends_with(": 3"); ++step) {
      std::vector<Updates> updates = Answers({step % 2 == 0 ? 0U : 3U});
      for (Updates& each : updates) {
        each.nonces = {{static_cast<std::uint8_t>(each.clients[0] + 1)}};
        if (each.clients[0] == 3) kind.spoil(each);
      }
      const std::vector<float> before = server->broadcast().model;
      Step(*server, updates);
      if (step == 0) {
        ASSERT_EQ(server->discarded().size(), 1U) << kind.found;
        EXPECT_EQ(server->broadcast().model, before);
      }
      for (const std::string& line : server->discarded()) {
        said = line;
        EXPECT_THAT(line, HasSubstr(kind.found));
      }
    }
    EXPECT_THAT(said, testing::EndsWith("; clients in this and all bad sums before it: 3"));
  }
}

TEST_F(GramServers, NeverDiscardHonestSums) {
  Random random(12, Purpose::kTest);
  auto server = NewGramServer(grid_, rule_);
  for (int round = 0; server->broadcast().releases < 10'000; ++round) {
    ASSERT_LT(round, 40'000);
    const std::uint32_t expert = round % 50 == 0 ? 5 : static_cast<std::uint32_t>(round % 2 * 3);
    const std::size_t count = 1 + random.Below(40);
    std::vector<Updates> updates;
    for (std::uint64_t k = 0; k < 2; ++k) {
      LearntSamples samples;
      const std::uint64_t extreme = random.Below(4);
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t j = 0; j < twin::kDimension; ++j) {
          samples.x.push_back(extreme == 3 ? 0 : static_cast<float>(random.Uniform()));
        }
        const double off = 4 * random.Uniform() - 2;
        samples.y.push_back(extreme == 1 ? 1 : extreme == 2 ? off : random.Uniform());
      }
      double all = 0;
      for (double& weight : weights_) all += weight = random.Exponential();
      for (double& weight : weights_) weight /= all;
      Updates& message = updates.emplace_back(Answer(k, {expert}));
      message.integers.clear();
      sums_.Append(expert, samples, weights_, message.integers);
      message.samples = {count};
      message.nonces = {{static_cast<std::uint8_t>(k + 1)}};
    }
    Step(*server, updates);
    ASSERT_THAT(server->discarded(), IsEmpty()) << round;
  }
}

TEST_F(GramServers, DoNotDivideFewClientsOrSumsThatAreNotMasked) {
  rule_.divides = true;
  rule_.schedule.least_clients = 3;
  const auto server = NewGramServer(grid_, rule_);
  std::vector<Updates> updates = Answers({0});
  updates[1].integers[1] += 3ULL << 36U;
  Step(*server, updates);
  ASSERT_EQ(server->discarded().size(), 1U);
  EXPECT_THAT(server->discarded()[0], Not(HasSubstr("divide")));
  for (Updates& each : updates) each.nonces = {{1}};
  Step(*server, updates);
  ASSERT_EQ(server->discarded().size(), 1U);
  EXPECT_THAT(server->discarded()[0], HasSubstr("too few clients to divide"));
}
}  // namespace
}  // namespace polykern
