#include "polykern/gpu/gram_clients.h"

#include <memory>
#include <numeric>
#include <vector>

#include "polykern/algorithms/gram/gram_inbox.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/kernels.h"
#include "polykern/gpu/emulated_device.h"
#include "polykern/gpu/fleet_shape.h"

namespace polykern::gpu {
namespace {

using testing::ElementsAre;

/// pof-gram with four kernels of two sizes, 5 and 10, and a step that asks for some of them.
class AskedClients : public testing::Test {
 protected:
  AskedClients() {
    broadcast_.model.assign(algorithm_->shape().blocks * algorithm_->shape().width, 0);
    results_.resize(clients_.MostResults());
  }

  void Ask(std::vector<std::uint32_t> turn) {
    broadcast_.turn = std::move(turn);
    clients_.Describe(arguments_);
    clients_.Begin(broadcast_, *queue_, results_.data(), arguments_);
  }
  /// As the device has them.
  std::vector<ExpertFacts> Facts() const {
    std::vector<ExpertFacts> facts(grid_.experts());
    queue_->Read(facts.data(), arguments_.experts, facts.size() * sizeof(ExpertFacts));
    return facts;
  }

  const std::unique_ptr<const Algorithm> algorithm_ = [] {
    AlgorithmOptions options;
    options.experts = Experts::kFederated;
    options.budget = 20;
    return MakeAlgorithm("pof-gram", options, {3, 100, 1});
  }();
  const GramGrid grid_{algorithm_->definition().bank->kernels(),
                       algorithm_->definition().bank->features()};
  const std::unique_ptr<const Device> device_ = NewEmulatedDevice();
  const std::unique_ptr<Queue> queue_ = device_->NewQueue();
  GramClients clients_{*device_, *algorithm_, ShapeOf(*algorithm_, true).kernels, 7};
  Broadcast broadcast_;
  FleetArguments arguments_ = {};
  std::vector<U64> results_;
};

TEST_F(AskedClients, KnowWhoIsAwakeNowAndInTheNextStep) {
  ASSERT_EQ(grid_.sizes(), 2U);
  broadcast_.model[grid_.ThetaStart(2) + 4] = 0.5F;
  Ask({5});
  EXPECT_EQ(arguments_.any_awake, 1U);
  std::vector<U32> awake;
  std::vector<U32> awakes;
  for (const ExpertFacts& each : Facts()) {
    awake.push_back(each.awake);
    awakes.push_back(each.awakes);
  }
  EXPECT_THAT(awake, ElementsAre(0, 0, 1, 0, 0, 0, 0, 0));
  EXPECT_THAT(awakes, ElementsAre(0, 0, 1, 0, 1, 1, 0, 0)) << "the smaller size of the kernel too";
  EXPECT_EQ(Facts()[3].size, 10U);
  EXPECT_EQ(Facts()[3].theta, grid_.ThetaStart(3));
}

TEST_F(AskedClients, AllSleepAtFirst) {
  Ask({});
  EXPECT_EQ(arguments_.any_awake, 0U);
  EXPECT_EQ(arguments_.turn_size, 0U);
  EXPECT_EQ(clients_.Results(), grid_.experts()) << "weights alone";
}

TEST_F(AskedClients, TellOfNewUnknownsInTheFirstOfTheSmallestSums) {
  Ask({1, 2, 4});
  std::vector<bool> tells;
  for (const TurnEntry& entry : clients_.turn()) tells.push_back(entry.tells);
  EXPECT_THAT(tells, ElementsAre(false, true, false));
}

TEST_F(AskedClients, GiveTheInboxWhatTheyAddedUpTo) {
  Ask({0, 3});
  std::vector<U64> totals(kStepTotals);
  totals[kParticipants] = 7;
  totals[kFreshUnknowns] = 28;
  std::iota(results_.begin(), results_.end(), U64{1000});
  GramInbox inbox(grid_, broadcast_.turn);
  clients_.Collect(std::span(results_).first(clients_.Results()), totals, inbox.Sums());
  EXPECT_EQ(inbox.fresh(), (SampleCount{7, 28}));
  const auto at = [&](const void* place) {
    return 1000 + (static_cast<const U64*>(place) - results_.data());
  };
  for (const TurnEntry& entry : clients_.turn()) {
    const std::int64_t counts = at(entry.counts);
    const std::int64_t sums = at(entry.sums);
    const GramSum sum = inbox.Take(entry.expert);
    EXPECT_EQ(sum.messages, 7U);
    EXPECT_EQ(sum.count.samples, static_cast<std::uint64_t>(counts + kPastSamples));
    EXPECT_EQ(sum.count.unknowns, static_cast<std::uint64_t>(counts + kPastUnknowns));
    EXPECT_EQ(sum.new_unknowns, static_cast<std::uint64_t>(counts + kPastNewUnknowns));
    EXPECT_EQ(sum.squares, static_cast<std::uint64_t>(counts + kPastSquares));
    ASSERT_EQ(sum.sums.size(), grid_.NumbersOf(entry.expert));
    const std::size_t pairs = sum.sums.size() - grid_.experts();
    EXPECT_EQ(sum.sums.front(), sums);
    EXPECT_EQ(sum.sums[pairs - 1], sums + static_cast<std::int64_t>(pairs) - 1);
    EXPECT_EQ(sum.sums[pairs], 1000) << "the weights, which all messages have alike";
    EXPECT_EQ(sum.sums.back(), 1000 + static_cast<std::int64_t>(grid_.experts()) - 1);
  }
  EXPECT_EQ(inbox.Take(1).messages, 0U);
}

}  // namespace
}  // namespace polykern::gpu
