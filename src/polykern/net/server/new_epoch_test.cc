#include "polykern/net/server/new_epoch.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "polykern/federation/coordinator.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/configuration.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/store_kinds/open_store.h"

namespace polykern {
namespace {

using testing::HasSubstr;

FederationConfiguration MaskedFederation() {
  FederationConfiguration federation{.algorithm = "pof-gram"};
  federation.options.masking = Masking::kHelper;
  federation.problem = {2, 100, 1};
  federation.federation_id = "f";
  federation.epoch = 1;
  return federation;
}

TEST(ANewEpoch, KeepsTheModelAndBeginsReleasesAnew) {
  const FederationConfiguration federation = MaskedFederation();
  const auto store = OpenStore("memory:", ToTexts(federation));
  const auto algorithm = MakeAlgorithm(federation, 3);
  const auto server = algorithm->NewServer();
  const auto inbox = server->NewInbox();
  for (int step = 0; step < 7; ++step) server->Commit(std::span(&inbox, 1), 0);
  const std::vector<double> state = server->Save();
  store->Write({.clients = std::vector<std::string>{"a", "b", "c"},
                .step = StepCommit{7, state, std::vector<CountedUpdate>{{1, 4}}}});
  EXPECT_EQ(BeginEpoch(*store), 2U);
  EXPECT_EQ(BeginEpoch(*store), 3U);
  const StoreContents contents = store->Contents();
  const FederationConfiguration after = FromTexts(contents.configuration);
  EXPECT_EQ(after.epoch, 3U);
  EXPECT_EQ(after.epoch_begin, 7U);
  EXPECT_EQ(after.federation_id, "f");
  ASSERT_TRUE(contents.newest);
  EXPECT_EQ(contents.newest->steps, 7U);
  EXPECT_EQ(contents.clients[1].next_step, 5U);
  EXPECT_GE(contents.events, 2U);
  Coordinator coordinator(*algorithm, 3);
  coordinator.Load(7, contents.newest->state);
  EXPECT_EQ(coordinator.broadcast().releases, 0U);
  EXPECT_EQ(coordinator.broadcast().model, server->broadcast().model);
}

TEST(ANewEpoch, OfAFederationBeforeItsFirstStepIsOneAsWell) {
  const auto store = OpenStore("memory:", ToTexts(MaskedFederation()));
  EXPECT_EQ(BeginEpoch(*store), 2U);
  EXPECT_FALSE(store->Contents().newest);
}

TEST(ANewEpoch, IsForMaskedFederationsWithoutNoise) {
  FederationConfiguration plain{.algorithm = "pof-gram"};
  plain.problem = {2, 100, 1};
  const auto store = OpenStore("memory:", ToTexts(plain));
  EXPECT_THAT(MessageOf([&] { BeginEpoch(*store); }), HasSubstr("nothing is masked"));
  FederationConfiguration noisy = MaskedFederation();
  noisy.options.epsilon = 1;
  const auto other = OpenStore("memory:", ToTexts(noisy));
  EXPECT_THAT(MessageOf([&] { BeginEpoch(*other); }), HasSubstr("start with a new store"));
  EXPECT_EQ(FromTexts(other->Contents().configuration).epoch, 1U);
}

}  // namespace
}  // namespace polykern
