#include "polykern/sim/ranks/update_relay.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/broken_rule.h"
#include "polykern/algorithms/registry.h"
#include "polykern/io/folder_testing.h"
#include "polykern/sim/ranks/thread_ranks_testing.h"

namespace polykern {
namespace {

constexpr std::size_t kRelayClients = 6;

/// A server that needs single updates.
std::unique_ptr<Algorithm> Newton() {
  AlgorithmOptions options;
  options.kernels = 7;
  options.features = 3;
  options.kernels_per_upload = 2;
  return MakeAlgorithm("pof-newton", options, {4, 20, 1});
}

/// What client k sends in a step: two blocks of numbers of its own.
Updates From(const Algorithm& algorithm, std::uint64_t step, std::uint64_t client) {
  const ModelShape& shape = algorithm.shape();
  Updates updates;
  updates.Clear();
  updates.step = step;
  updates.clients = {client};
  const auto first = static_cast<std::uint32_t>(client % (shape.blocks - 1));
  updates.blocks = {first, first + 1};
  updates.first = {0, 2};
  const float size = 1 / std::sqrt(static_cast<float>(shape.width));  // features have norm 1
  for (std::size_t i = 0; i < 2 * shape.width; ++i) {
    const auto other = static_cast<float>((client + i + step) % 5);
    updates.values.push_back(size * (1 + 0.02F * other));
  }
  updates.losses.assign(shape.losses_per_update, 0.5);
  return updates;
}

const RunJobs kInTurn = RunInTurn;

TEST(UpdateRelay, GivesEveryRankTheModelOfOneCoordinator) {
  const auto algorithm = Newton();
  Coordinator alone(*algorithm, kRelayClients);
  ASSERT_TRUE(alone.Sums().empty());
  std::vector<std::vector<float>> expected;
  for (std::uint64_t step = 0; step < 4; ++step) {
    for (std::uint64_t k = 0; k < kRelayClients; ++k) alone.Receive(From(*algorithm, step, k));
    alone.Commit();
    expected.push_back(alone.broadcast().model);
  }
  EXPECT_NE(expected[0], expected[3]);
  for (const std::size_t count : {2U, 3U}) {
    RunRanks(count, [&](Communicator& ranks) {
      const ClientRange own = OwnClients(kRelayClients, ranks);
      Coordinator coordinator(*algorithm, own.count, 1, own.first);
      UpdateRelay relay(algorithm->shape(), coordinator, ranks, 1);
      for (std::uint64_t step = 0; step < 4; ++step) {
        for (std::size_t k = 0; k < own.count; ++k) {
          relay.Receive(From(*algorithm, step, own.first + k), 0);
        }
        relay.Deliver();
        coordinator.Commit(kRelayClients, kInTurn);
        relay.ShareModel("");
        EXPECT_EQ(relay.broadcast().model, expected[step]) << count << " ranks, step " << step;
        EXPECT_EQ(relay.broadcast().step, step + 1);
      }
    });
  }
}

TEST(UpdateRelay, RefusesASecondAnswerAndAWrongStep) {
  const auto algorithm = Newton();
  RunRanks(2, [&](Communicator& ranks) {
    Coordinator coordinator(*algorithm, 3, 1, 3 * ranks.rank());
    UpdateRelay relay(algorithm->shape(), coordinator, ranks, 1);
    const Updates updates = From(*algorithm, 0, 3 * ranks.rank());
    relay.Receive(updates, 0);
    EXPECT_THROW(relay.Receive(updates, 0), BrokenRule);
    EXPECT_THROW(relay.Receive(From(*algorithm, 1, 3 * ranks.rank() + 1), 0), BrokenRule);
  });
}

TEST(UpdateRelay, TellsAllRanksTheLowestFailure) {
  const auto algorithm = Newton();
  RunRanks(3, [&](Communicator& ranks) {
    Coordinator coordinator(*algorithm, 2, 1, 2 * ranks.rank());
    UpdateRelay relay(algorithm->shape(), coordinator, ranks, 1);
    // 10 is above 9, and shorter texts have the lower numbers.
    const std::string failure = ranks.rank() == 0   ? "kernel 10 diverges"
                                : ranks.rank() == 1 ? ""
                                                    : "kernel 9 diverges";
    EXPECT_EQ(MessageOf([&] { relay.ShareModel(failure); }), "kernel 9 diverges");
  });
}

}  // namespace
}  // namespace polykern
