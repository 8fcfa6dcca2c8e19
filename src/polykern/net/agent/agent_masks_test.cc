// What an agent does where a helper masks.
#include "polykern/net/agent/agent_masks.h"

#include <array>
#include <ctime>
#include <memory>
#include <numeric>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "polykern/io/folder_testing.h"
#include "polykern/net/agent/agent_rounds_internal.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/mask_key_wire.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/pki/signed_mask_key.h"

namespace polykern {
namespace {

class AgentWithMasks : public testing::Test {
 protected:
  AgentWithMasks() {
    InitAuthority(pki, {.hosts = {"127.0.0.1"}});
    IssueHelper(pki, "helper", {.hosts = {"127.0.0.1"}});
    IssueClient(pki, "a", {});
    configuration.algorithm = "pof-gram";
    configuration.options.masking = Masking::kHelper;
    configuration.problem = {3, 100, 1};
    algorithm = MakeAlgorithm(configuration, 9);
  }

  Welcome WelcomeAt(std::uint64_t step, std::uint64_t releases) const {
    Broadcast model;
    model.step = step;
    model.model.resize(algorithm->shape().model_size());
    model.releases = releases;
    model.turn = {0};
    std::vector<std::uint32_t> blocks(algorithm->shape().blocks);
    std::iota(blocks.begin(), blocks.end(), 0U);
    return {.client = 7,
            .configuration = ToTexts(configuration),
            .model = TakeBlocks(algorithm->shape(), model, std::move(blocks)),
            .helper_key = Encode(
                SignMaskKey(ReadHelperIdentity(pki + "/helpers/helper", std::time(nullptr))))};
  }
  void HasKeys(AgentRounds& rounds) const {
    const std::string place = pki + "/clients/a";
    rounds.Mask(*MaskIdentityOf(ReadClientIdentity(place, std::time(nullptr)), place));
  }
  /// The releases that an answer knows of.
  std::uint64_t Answer(AgentRounds& rounds) {
    rounds.Predict(std::array{0.2F, 0.1F, 0.4F});
    const auto learnt = rounds.Learn(
        0.7, {}, [this](const AgentState& state) { kept = state; }, false);
    return std::get<Updates>(DecodeClientMessage(learnt.update)).releases;
  }

  TestFolder folder;
  const std::string pki = folder.At("pki");
  FederationConfiguration configuration;
  std::unique_ptr<Algorithm> algorithm;
  std::optional<AgentState> kept;
};

TEST_F(AgentWithMasks, TellsTheHelperOfTheMostReleasesThatItHasHeardOf) {
  AgentRounds rounds;
  HasKeys(rounds);
  rounds.Take(WelcomeAt(5, 3));
  EXPECT_EQ(Answer(rounds), 3U);
  rounds.Take(WelcomeAt(6, 4));
  EXPECT_EQ(Answer(rounds), 4U);
  // The server goes back; if its helper does as well, nobody else can tell.
  rounds.Take(WelcomeAt(2, 1));
  EXPECT_EQ(Answer(rounds), 4U);
  AgentRounds restarted(*kept, "state");
  HasKeys(restarted);
  restarted.Take(WelcomeAt(3, 1));
  EXPECT_EQ(Answer(restarted), 4U) << "it survives a restart";
  configuration.epoch = 1;
  restarted.Take(WelcomeAt(9, 0));
  EXPECT_EQ(Answer(restarted), 0U) << "a new epoch counts anew";
}

}  // namespace
}  // namespace polykern
