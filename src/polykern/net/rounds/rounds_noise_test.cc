// Rounds of a federation whose sums get noise from its server.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/net/rounds/rounds_testing.h"
#include "polykern/net/rounds/server_noise.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Somebody who opens nothing yet.
class NotYet final : public ReleaseOpener {
 public:
  explicit NotYet(ReleaseOpener& other) : other_(other) {}
  bool masked() const override { return false; }
  std::string ClientsNeed() override { return {}; }
  void AddKey(const std::string&, const std::string&) override {}
  std::string Open(Release&, std::span<const std::string>) override { return "not yet"; }
  std::vector<double> Save() const override { return other_.Save(); }
  void Load(std::span<const double> saved) override { other_.Load(saved); }

 private:
  ReleaseOpener& other_;
};

class RoundsWithNoise : public RoundsOfAFederation {
 protected:
  RoundsWithNoise() { Federate(64); }

  void Federate(std::size_t releases) {
    configuration_ = {};
    configuration_.algorithm = "pof-gram";
    configuration_.options.epsilon = 1;
    configuration_.options.releases = releases;
    configuration_.problem = {3, 100, 1};
    algorithm_ = MakeAlgorithm(configuration_);
  }

  /// As a process that is started: it knows of noise what the store does.
  void StartProcess(bool opens = true) {
    rounds_.reset();
    noise_.emplace(NoiseTermsOf(*algorithm_, 1));
    not_yet_.emplace(*noise_);
    options_.opener = opens ? static_cast<ReleaseOpener*>(&*noise_) : &*not_yet_;
    Start();
    clients_.clear();
    for (const char* name : {"a", "b", "c"}) clients_.push_back(Join(name));
  }

  /// All clients' answer to a step, over so many samples each.
  void AnswerAll(std::uint64_t samples = 20) {
    const std::uint64_t step = this->step();
    for (TestClient& client : clients_) {
      while (const auto message = Next(client)) {
        if (const auto* welcome = std::get_if<Welcome>(&*message)) turn_ = welcome->model.turn;
        if (const auto* change = std::get_if<ModelChange>(&*message)) turn_ = change->turn;
      }
      Updates updates;
      updates.step = step;
      updates.clients = {99};
      updates.first = {0, turn_.size()};
      updates.blocks = turn_;
      updates.fresh = {{samples, 4 * samples}};
      if (!turn_.empty()) {
        updates.samples = {samples};
        updates.unknowns = updates.new_unknowns = {4 * samples};
        updates.integers.assign(algorithm_->shape().sums[0], 1000);
      }
      rounds_->Receive(client.session, std::move(updates), now_);
    }
    Write();
  }

  std::vector<float> Model() {
    TestClient reader = Join("a");
    return Expect<Welcome>(reader).model.values;
  }

  std::optional<ServerNoise> noise_;
  std::optional<NotYet> not_yet_;
  std::vector<TestClient> clients_;
  std::vector<std::uint32_t> turn_;
};

TEST_F(RoundsWithNoise, ReleaseNoisySumsAndSayWhatTheyCost) {
  StartProcess();
  AnswerAll();
  EXPECT_EQ(step(), 1U);
  EXPECT_EQ(noise_->status().noise->releases, 1U);
  EXPECT_EQ(rounds_->status().releases, 1U);
  EXPECT_EQ(rounds_->status().discarded, 0U);
  const std::vector<float> model = Model();
  EXPECT_TRUE(std::ranges::any_of(model, [](float value) { return value != 0; }));
}

TEST_F(RoundsWithNoise, ResumeAfterARestartWithTheSameModelAndWhatWasSpent) {
  StartProcess();
  for (int i = 0; i < 12; ++i) AnswerAll();
  const auto spent = *noise_->status().noise;
  EXPECT_GT(spent.releases, 3U);
  const std::vector<float> model = Model();
  const std::vector<double> kept = noise_->Save();
  StartProcess();
  EXPECT_EQ(step(), 12U);
  EXPECT_EQ(noise_->Save(), kept) << "what was released is not drawn again";
  EXPECT_EQ(noise_->status().noise->spent, spent.spent);
  EXPECT_EQ(Model(), model);
  StartProcess();
  while (noise_->status().noise->releases == spent.releases) AnswerAll();
  EXPECT_EQ(rounds_->status().discarded, 0U);
}

TEST_F(RoundsWithNoise, OpenAClosedSumOnceAfterAKill) {
  StartProcess(false);
  AnswerAll();
  EXPECT_THAT(rounds_->status().trouble, HasSubstr("not yet"));
  EXPECT_EQ(step(), 0U) << "nobody has heard of it";
  StartProcess(false);
  EXPECT_EQ(noise_->status().noise->releases, 0U);
  StartProcess();
  Write();
  EXPECT_EQ(step(), 1U);
  EXPECT_EQ(noise_->status().noise->releases, 1U);
  StartProcess();
  EXPECT_EQ(noise_->status().noise->releases, 1U);
}

TEST_F(RoundsWithNoise, LearnNoMoreWhenTheBudgetIsSpentAndContinue) {
  Federate(2);
  StartProcess();
  while (noise_->status().noise->releases_left > 0) AnswerAll();
  const std::vector<float> model = Model();
  StartProcess();
  for (int i = 0; i < 30; ++i) AnswerAll();
  EXPECT_EQ(noise_->status().noise->releases, 2U);
  EXPECT_LE(noise_->status().noise->spent, 1);
  EXPECT_EQ(Model(), model);
  EXPECT_THAT(turn_, IsEmpty()) << "nobody is asked for anything";
  EXPECT_THAT(rounds_->status().trouble, IsEmpty());
  EXPECT_THAT(model, Not(IsEmpty()));
}

TEST_F(RoundsWithNoise, DoNotResumeFromAStateWithoutIt) {
  StartProcess();
  AnswerAll();
  rounds_.reset();
  options_.opener = nullptr;
  EXPECT_THROW(Start(), Error);
}

}  // namespace
}  // namespace polykern
