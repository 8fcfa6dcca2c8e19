#include "polykern/sim/simulated_masks.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/algorithms/registry.h"
#include "polykern/core/random.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

std::unique_ptr<Algorithm> MaskedGram(Masking masking, std::size_t clients) {
  AlgorithmOptions options;
  options.masking = masking;
  options.least_clients = clients;
  options.features = 5;
  return MakeAlgorithm("pof-gram", options, {3, 100, 1, clients});
}

/// A client's message with one sum, over a single sample.
Updates OneSum(const ModelShape& shape, std::uint64_t client, std::uint64_t step) {
  Random random(3, Purpose::kTest, client, step);
  Updates updates;
  updates.Begin(step, std::array{client}, 1);
  updates.samples = {1};
  updates.unknowns = {4};
  updates.new_unknowns = {4};
  updates.fresh = {{1, 4}};
  for (std::size_t i = 0; i < shape.sums[0]; ++i) {
    updates.integers.push_back(random.Below(1000));
  }
  return updates;
}

void AddToRelease(const Updates& sent, Release& release) {
  release.sums.resize(sent.integers.size());
  for (std::size_t i = 0; i < release.sums.size(); ++i) {
    release.sums[i] =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(release.sums[i]) + sent.integers[i]);
  }
  if (sent.nonces.empty()) return;
  release.contributions.push_back({sent.clients[0],
                                   sent.step,
                                   sent.releases,
                                   {sent.samples[0], sent.unknowns[0]},
                                   sent.new_unknowns[0],
                                   sent.nonces[0]});
}

struct SumsOfClients {
  Release plain;
  Release masked;
};

/// As the server would have closed them, in steps that follow each other.
SumsOfClients SumsOver(const SimulatedMasks& masks, const ModelShape& shape,
                       std::span<const std::uint64_t> clients, std::size_t steps) {
  SumsOfClients sums;
  for (std::size_t step = 0; step < steps; ++step) {
    for (const std::uint64_t client : clients) {
      const Updates message = OneSum(shape, client, step);
      Updates sealed;
      AddToRelease(message, sums.plain);
      AddToRelease(masks.sealing().Seal(shape, message, sealed), sums.masked);
    }
  }
  return sums;
}

TEST(SimulatedMasks, OfAHelperComeOffTheSumOfAnyClients) {
  const auto algorithm = MaskedGram(Masking::kHelper, 6);
  SimulatedMasks masks(*algorithm, 1, 6);
  for (const auto& clients : {std::vector<std::uint64_t>{5}, {0, 3}, {0, 1, 2, 3, 4, 5}}) {
    SumsOfClients sums = SumsOver(masks, algorithm->shape(), clients, 3);
    EXPECT_NE(sums.masked.sums, sums.plain.sums);
    masks.opener().Open(sums.masked);
    EXPECT_EQ(sums.masked.refusal, "");
    EXPECT_EQ(sums.masked.sums, sums.plain.sums);
  }
}

TEST(SimulatedMasks, OfPairsCancelWhereEveryClientIsThere) {
  for (const std::size_t clients : {2U, 3U, 7U}) {
    const auto algorithm = MaskedGram(Masking::kPairwise, clients);
    SimulatedMasks masks(*algorithm, 1, clients);
    std::vector<std::uint64_t> all;
    for (std::uint64_t client = 0; client < clients; ++client) {
      all.push_back(client);
      SumsOfClients own = SumsOver(masks, algorithm->shape(), std::span(&client, 1), 1);
      EXPECT_NE(own.masked.sums, own.plain.sums);
    }
    SumsOfClients sums = SumsOver(masks, algorithm->shape(), all, 2);
    EXPECT_EQ(sums.masked.sums, sums.plain.sums);
    masks.opener().Open(sums.masked);
    EXPECT_EQ(sums.masked.refusal, "");
    EXPECT_EQ(sums.masked.sums, sums.plain.sums);
  }
}

TEST(SimulatedMasks, OfPairsAreRefusedWhereOneIsMissing) {
  const auto algorithm = MaskedGram(Masking::kPairwise, 5);
  SimulatedMasks masks(*algorithm, 1, 5);
  for (std::uint64_t missing = 0; missing < 5; ++missing) {
    std::vector<std::uint64_t> others;
    for (std::uint64_t client = 0; client < 5; ++client) {
      if (client != missing) others.push_back(client);
    }
    SumsOfClients sums = SumsOver(masks, algorithm->shape(), others, 1);
    EXPECT_NE(sums.masked.sums, sums.plain.sums);
    masks.opener().Open(sums.masked);
    EXPECT_EQ(sums.masked.refusal,
              "only 4 of 5 clients have answered step 0, and pairwise masks need all");
  }
}

TEST(SimulatedMasks, AreThoseOfTheirSeedAndOfNoOther) {
  for (const Masking masking : {Masking::kHelper, Masking::kPairwise}) {
    const auto algorithm = MaskedGram(masking, 4);
    const auto sealed = [&](std::uint64_t seed, std::uint64_t client, std::uint64_t step) {
      const SimulatedMasks masks(*algorithm, seed, 4);
      Updates message = OneSum(algorithm->shape(), 0, 0);  // the same for all
      message.clients = {client};
      message.step = step;
      Updates room;
      return masks.sealing().Seal(algorithm->shape(), message, room).integers;
    };
    EXPECT_EQ(sealed(1, 2, 3), sealed(1, 2, 3));
    EXPECT_NE(sealed(1, 2, 3), sealed(2, 2, 3));
    EXPECT_NE(sealed(1, 2, 3), sealed(1, 1, 3));
    EXPECT_NE(sealed(1, 2, 3), sealed(1, 2, 4));
  }
}

// Clients of a fleet keep their keys when others join: masks of a client do not depend on how many
// there are.
TEST(SimulatedMasks, OfAHelperDoNotDependOnTheOtherClients) {
  const auto few = MaskedGram(Masking::kHelper, 2);
  const auto many = MaskedGram(Masking::kHelper, 9);
  const Updates message = OneSum(few->shape(), 1, 8);
  Updates first;
  Updates second;
  SimulatedMasks(*few, 4, 2).sealing().Seal(few->shape(), message, first);
  SimulatedMasks(*many, 4, 9).sealing().Seal(many->shape(), message, second);
  EXPECT_EQ(first.integers, second.integers);
  EXPECT_LE(sizeof first.nonces[0], SimulatedMasks::kBytes);
}

TEST(SimulatedMasks, AreRefusedToAnAlgorithmWithoutSums) {
  const auto algorithm = MakeAlgorithm("pof-mkl", {}, {3, 100, 1});
  EXPECT_EQ(MessageOf([&] { SimulatedMasks(*algorithm, 1, 4); }),
            "pof-mkl cannot be masked: its clients do not send sums over samples; pof-gram's do");
}

}  // namespace
}  // namespace polykern
