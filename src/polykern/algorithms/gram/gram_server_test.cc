#include "polykern/algorithms/gram/gram_server.h"

#include <cmath>
#include <functional>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/gram/gram_sums.h"
#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/error.h"
#include "polykern/core/kernels.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using twin::Vector;

constexpr double kRidge = 0.01;

/// Clients with 20 samples each that answer whatever a server asks for.
class GramServers : public testing::Test {
 protected:
  GramServers() {
    rule_.ridge = kRidge;
    rule_.schedule.disclosure = 100;  // whatever is sent is released
    weights_.assign(grid_.experts(), 1 / static_cast<double>(grid_.experts()));
    Random random(9, Purpose::kTest);
    for (LearntSamples& own : samples_) {
      for (int i = 0; i < 20; ++i) {
        for (std::size_t j = 0; j < twin::kDimension; ++j) {
          own.x.push_back(static_cast<float>(random.Uniform()));
        }
        own.y.push_back(0.5 + 0.4 * std::sin(4 * static_cast<double>(own.x.back())));
      }
    }
  }

  /// What client k sends of these experts, over all its samples.
  Updates Answer(std::uint64_t k, const std::vector<std::uint32_t>& turn) {
    Updates updates;
    updates.clients = {k};
    updates.first = {0, turn.size()};
    updates.blocks = turn;
    for (const std::uint32_t expert : turn) {
      sums_.Append(expert, samples_[k], weights_, updates.integers);
      updates.samples.push_back(20);
      updates.unknowns.push_back(80);
      updates.new_unknowns.push_back(updates.new_unknowns.empty() ? 80 : 0);
    }
    updates.fresh = {{20, 80}};
    return updates;
  }
  void Step(Server& server, const std::vector<Updates>& updates, std::size_t inboxes = 1) {
    Commit(server, updates, inboxes);
    server.Open();
  }
  void Commit(Server& server, const std::vector<Updates>& updates, std::size_t inboxes) {
    std::vector<std::unique_ptr<Inbox>> all;
    for (std::size_t i = 0; i < inboxes; ++i) all.push_back(server.NewInbox());
    for (std::size_t i = 0; i < updates.size(); ++i) all[i % inboxes]->Add(updates[i]);
    server.Commit(all, updates.size());
  }
  std::vector<Updates> Answers(const std::vector<std::uint32_t>& turn) {
    std::vector<Updates> updates;
    for (std::uint64_t k = 0; k < kClients; ++k) updates.push_back(Answer(k, turn));
    return updates;
  }
  std::span<const float> Theta(const Server& server, std::size_t expert) const {
    return std::span(server.broadcast().model)
        .subspan(grid_.ThetaStart(expert), grid_.WidthOf(expert));
  }
  /// (6) with the first D features of an expert, as long as a kernel with D has them.
  Vector Z(std::size_t expert, std::span<const float> x) const {
    const Vector all = twin::FeaturesOf(bank_, grid_.KernelOf(expert), Vector(x.begin(), x.end()));
    const std::size_t size = grid_.SizeOf(expert);
    Vector z;
    for (std::size_t j = 0; j < 2 * size; ++j) {
      z.push_back(all[j < size ? j : 21 + j - size] * std::sqrt(21.0 / static_cast<double>(size)));
    }
    return z;
  }

  static constexpr std::size_t kClients = 5;
  KernelBank bank_{MakeDictionary("gaussian", 2), twin::kDimension, 21, 5};
  GramGrid grid_{2, 21};
  QuarteredKernels kernels_{bank_};
  GramSums sums_{grid_, kernels_};
  GramServerRule rule_;
  Vector weights_;
  std::vector<LearntSamples> samples_ = std::vector<LearntSamples>(kClients);
};

TEST_F(GramServers, SolveTheRidgeRegressionOfAllSamples) {
  const auto server = NewGramServer(grid_, rule_);
  Step(*server, Answers({1, 5}));
  EXPECT_THAT(server->discarded(), IsEmpty());
  for (const std::size_t expert : {0U, 1U, 3U, 4U, 5U}) {
    std::vector<twin::Weighted> all;
    for (const LearntSamples& own : samples_) {
      for (std::size_t i = 0; i < own.y.size(); ++i) {
        all.push_back({Z(expert, std::span(own.x).subspan(i * twin::kDimension, twin::kDimension)),
                       own.y[i] - 0.5});
      }
    }
    Vector expected = twin::RidgeSolution(all, kRidge, grid_.WidthOf(expert));
    // The model is for features of the bank's length.
    for (double& each : expected) {
      each *= std::sqrt(21.0 / static_cast<double>(grid_.SizeOf(expert)));
    }
    // Features are off by 2^-19 of 0.22, and the ridge makes that 1 / (2 sqrt(0.01)) times 10.
    EXPECT_LT(twin::RelativeError(Theta(*server, expert), expected), 2e-3) << expert;
  }
  EXPECT_THAT(Theta(*server, 2), testing::Each(0)) << "it had no turn";
}

TEST_F(GramServers, ForgetWhatIsOld) {
  rule_.forgetting = 0.5;
  const auto server = NewGramServer(grid_, rule_);
  const auto once = NewGramServer(grid_, rule_);
  Step(*server, {Answer(0, {0}), Answer(1, {0})});
  for (int step = 0; step < 60; ++step) Step(*server, Answers({3}));
  Step(*server, {Answer(2, {0}), Answer(3, {0})});
  Step(*once, {Answer(2, {0}), Answer(3, {0})});
  EXPECT_THAT(Theta(*server, 0), testing::ElementsAreArray(Theta(*once, 0)));
}

TEST_F(GramServers, HaveTheSameBitsInAnyOrderAndInboxes) {
  const auto one = NewGramServer(grid_, rule_);
  const auto other = NewGramServer(grid_, rule_);
  std::vector<Updates> updates = Answers({0, 2, 4});
  Step(*one, updates);
  std::ranges::reverse(updates);
  Step(*other, updates, 3);
  EXPECT_EQ(one->Save(), other->Save());
  EXPECT_EQ(one->broadcast().model, other->broadcast().model);
}

TEST_F(GramServers, AddUpWhatOthersHold) {
  const auto one = NewGramServer(grid_, rule_);
  const auto other = NewGramServer(grid_, rule_);
  for (int step = 0; step < 3 || one->broadcast().turn.empty(); ++step) {
    ASSERT_LT(step, 20) << "there is no turn";
    Step(*one, Answers(one->broadcast().turn));
    Step(*other, Answers(other->broadcast().turn));
  }
  const std::vector<std::uint32_t> turn = one->broadcast().turn;
  std::vector<std::unique_ptr<Inbox>> here;
  here.push_back(one->NewInbox());
  std::vector<std::unique_ptr<Inbox>> there;
  there.push_back(one->NewInbox());
  const auto updates = Answers(turn);
  for (std::size_t i = 0; i < updates.size(); ++i) (i < 2 ? here : there)[0]->Add(updates[i]);
  const auto sums = here[0]->Sums();
  const auto more = there[0]->Sums();
  ASSERT_EQ(sums.size(), more.size());
  for (std::size_t s = 0; s < sums.size(); ++s) {
    for (std::size_t i = 0; i < sums[s].size(); ++i) sums[s][i] += more[s][i];
  }
  one->Commit(here, updates.size());
  one->Open();
  Step(*other, updates);
  EXPECT_EQ(one->Save(), other->Save());
}

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

TEST_F(GramServers, HoldFirstSumsOfFewerSamplesThanTheyCountedOn) {
  rule_.schedule.disclosure = 0.5;
  rule_.expected = {20 * kClients, 80 * kClients};
  const auto server = NewGramServer(grid_, rule_);
  const auto turn = server->broadcast().turn;
  EXPECT_THAT(turn, testing::ElementsAre(0, 3));  // 144 numbers, and half of 400 unknowns
  const auto all = NewGramServer(grid_, rule_);
  Step(*all, Answers(turn));
  EXPECT_NE(all->broadcast().model, server->broadcast().model);
  Step(*server, {Answer(0, turn), Answer(1, turn), Answer(2, turn)});  // half of 240
  EXPECT_THAT(server->broadcast().model, testing::Each(0));
  EXPECT_EQ(server->broadcast().turn, turn);
  EXPECT_THAT(server->discarded(), IsEmpty());
  Step(*server, {Answer(4, turn), Answer(3, turn)});
  EXPECT_EQ(server->broadcast().model, all->broadcast().model);
}

TEST_F(GramServers, HoldTheSameSumsAfterAStop) {
  rule_.schedule.disclosure = 0.5;
  rule_.expected = {20 * kClients, 80 * kClients};
  const auto whole = NewGramServer(grid_, rule_);
  const auto turn = whole->broadcast().turn;
  Step(*whole, {Answer(0, turn), Answer(1, turn)});
  const auto stopped = NewGramServer(grid_, rule_);
  const std::vector<double> saved = whole->Save();
  stopped->Load(1, saved);
  EXPECT_EQ(stopped->Save(), saved);
  for (const auto& server : {whole.get(), stopped.get()}) Step(*server, Answers(turn));
  EXPECT_THAT(whole->broadcast().model, testing::Contains(testing::Ne(0)));
  EXPECT_EQ(whole->Save(), stopped->Save());

  // The numbers of one message less.
  const std::vector<double> cut(saved.begin(), saved.end() - 1);
  EXPECT_THAT([&] { stopped->Load(1, cut); },
              testing::ThrowsMessage<Error>(HasSubstr("other settings")));
}

TEST_F(GramServers, NameWhoIsInASumThatIsClosed) {
  const auto server = NewGramServer(grid_, rule_);
  std::vector<Updates> updates = Answers({1, 5});
  for (Updates& each : updates) {
    each.releases = 7;
    each.nonces = {{static_cast<std::uint8_t>(each.clients[0] + 100), 3}};
  }
  std::ranges::reverse(updates);
  Commit(*server, updates, 2);
  const auto releases = server->releases();
  ASSERT_EQ(releases.size(), 2U);
  EXPECT_EQ(releases[0].number, 0U);
  EXPECT_EQ(releases[1].number, 1U);
  EXPECT_EQ(releases[1].kind, 5U);
  EXPECT_EQ(releases[1].messages, kClients);
  EXPECT_EQ(releases[1].count, (SampleCount{20 * kClients, 80 * kClients}));
  ASSERT_EQ(releases[1].contributions.size(), kClients);
  for (std::uint64_t k = 0; k < kClients; ++k) {
    const MaskNonce nonce = {static_cast<std::uint8_t>(k + 100), 3};
    EXPECT_EQ(releases[0].contributions[k], (Contribution{k, 0, 7, {20, 80}, 80, nonce}));
    EXPECT_EQ(releases[1].contributions[k], (Contribution{k, 0, 7, {20, 80}, 0, nonce}));
  }
  server->Open();
  EXPECT_THAT(server->releases(), IsEmpty());
  EXPECT_EQ(server->broadcast().releases, 2U);
}

TEST_F(GramServers, OpenTheSameSumsAfterAStop) {
  const auto whole = NewGramServer(grid_, rule_);
  Step(*whole, Answers({0}));
  std::vector<Updates> updates = Answers({1, 5});
  for (Updates& each : updates) each.nonces = {{1, static_cast<std::uint8_t>(each.clients[0])}};
  for (Updates& each : updates) each.nonces[0][15] = 0xFF;
  Commit(*whole, updates, 1);
  const auto stopped = NewGramServer(grid_, rule_);
  stopped->Load(2, whole->Save());
  ASSERT_EQ(stopped->releases().size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(stopped->releases()[i].number, 1 + i);
    EXPECT_EQ(stopped->releases()[i].sums, whole->releases()[i].sums);
    EXPECT_EQ(stopped->releases()[i].contributions, whole->releases()[i].contributions);
  }
  EXPECT_EQ(stopped->Save(), whole->Save());
  for (const auto& server : {whole.get(), stopped.get()}) server->Open();
  EXPECT_EQ(stopped->Save(), whole->Save());
  EXPECT_EQ(stopped->broadcast().turn, whole->broadcast().turn);
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

TEST_F(GramServers, BeginAnEpochWithTheModelAlone) {
  rule_.schedule.disclosure = 0.5;
  const auto server = NewGramServer(grid_, rule_);
  Step(*server, Answers({0}));
  std::vector<Updates> few = Answers({3});
  few.resize(1);
  Step(*server, few);  // held: too few samples
  const std::vector<float> before = server->broadcast().model;
  EXPECT_EQ(server->broadcast().releases, 1U);
  server->BeginEpoch();
  EXPECT_EQ(server->broadcast().releases, 0U);
  EXPECT_EQ(server->broadcast().model, before);
  const auto stopped = NewGramServer(grid_, rule_);
  stopped->Load(server->broadcast().step, server->Save());
  EXPECT_EQ(stopped->Save(), server->Save());
  EXPECT_THAT(server->broadcast().turn, IsEmpty()) << "nothing is learnt that can pay for it";
  std::vector<Updates> others = Answers({3});
  others.erase(others.begin());
  Commit(*server, others, 1);
  ASSERT_EQ(server->releases().size(), 1U);
  EXPECT_EQ(server->releases()[0].number, 0U);
  EXPECT_EQ(server->releases()[0].count.samples, 80U) << "of the first one's nothing was left";
}

TEST_F(GramServers, RefuseStatesOfOtherSettings) {
  const auto server = NewGramServer(grid_, rule_);
  const GramGrid other(2, 10);
  EXPECT_THAT([&] { server->Load(1, NewGramServer(other, rule_)->Save()); },
              testing::ThrowsMessage<Error>(HasSubstr("other settings")));
}

}  // namespace
}  // namespace polykern
