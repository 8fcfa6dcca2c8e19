#include "polykern/algorithms/shared/kernel_draw.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/random.h"

namespace polykern {
namespace {

using testing::ElementsAre;

TEST(KernelDraw, WritesTheBinsOfClientAfterClient) {
  const KernelDraw draw(2, 1, 5);  // xi = 1: bins {0, 1}, {2, 3}, {4}
  std::vector<double> losses(5);
  const std::vector<double> weights(5, 0.2);
  const std::vector<std::uint64_t> clients = {7, 8, 9};
  const std::vector<double*> states(3, losses.data());
  const std::vector<double> uniforms = {0.9, 0.1, 0.5};
  std::vector<std::uint32_t> scratch;
  Updates updates;
  updates.Begin(4, clients, draw.per_upload());
  for (std::size_t c = 0; c < 3; ++c) {
    draw.Draw({clients, {}, states, uniforms}, c, weights, scratch, updates);
  }
  updates.MakeRoom(6);
  EXPECT_THAT(updates.first, ElementsAre(0, 1, 3, 5));
  EXPECT_THAT(updates.blocks, ElementsAre(4, 0, 1, 2, 3));
  EXPECT_EQ(updates.values.size(), 30U);
  EXPECT_THAT(updates.probability, testing::Each(1.0 / 3));
}

TEST(KernelDraw, DrawsFromTheSeedTheClientAndTheStepIfNothingIsGiven) {
  std::vector<double> losses = {3, 1, 2, 5, 4};
  const std::vector<double> weights = {0.1, 0.4, 0.3, 0.1, 0.1};
  const std::vector<double*> states = {losses.data()};
  std::vector<std::uint32_t> scratch;
  for (std::uint64_t client = 0; client < 20; ++client) {
    const std::vector<std::uint64_t> clients = {client};
    const std::vector<double> uniform = {Random(5, Purpose::kSubset, client, 3).Uniform()};
    const KernelDraw draw(1, 0.5, 5);
    Updates drawn;
    Updates given;
    drawn.Begin(3, clients, 1);
    given.Begin(3, clients, 1);
    draw.Draw({clients, {}, states, {}}, 0, weights, scratch, drawn);
    draw.Draw({clients, {}, states, uniform}, 0, weights, scratch, given);
    EXPECT_EQ(drawn.blocks, given.blocks);
    EXPECT_EQ(drawn.probability, given.probability);
  }
}

}  // namespace
}  // namespace polykern
