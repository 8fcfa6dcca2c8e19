#include "polykern/privacy/mask_sealing.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/core/random.h"

namespace polykern {
namespace {

const ClientMaskKeys& KeysOfClient(std::uint64_t client) {
  static std::map<std::uint64_t, ClientMaskKeys> all;
  ClientMaskKeys& keys = all[client];
  keys.pair.bytes[0] = static_cast<std::uint8_t>(client + 1);
  keys.nonces = NonceKeyOf(keys.pair);
  return keys;
}

ModelShape TwoKinds() {
  ModelShape shape;
  shape.ring = {64, 0x1p-36};
  shape.sums = {1000, 70};
  return shape;
}

/// Messages of these clients with both kinds of sums, of small numbers.
Updates Messages(const std::vector<std::uint64_t>& clients, std::uint64_t seed) {
  Random random(seed, Purpose::kTest);
  Updates updates;
  updates.Begin(9, clients, 2);
  updates.releases = 4;
  for (std::size_t c = 0; c < clients.size(); ++c) {
    updates.blocks[2 * c + 1] = 1;
    for (const std::uint64_t samples : {3U, 4U}) {
      updates.samples.push_back(samples);
      updates.unknowns.push_back(5 * samples);
      updates.new_unknowns.push_back(samples);
    }
    updates.fresh.push_back({4, 20});
    for (int i = 0; i < 1070; ++i) updates.integers.push_back(random.Below(1000));
  }
  return updates;
}

/// What a server would have closed of one kind.
Release SumOfKind(const Updates& sent, std::uint32_t kind) {
  const std::size_t numbers = kind == 0 ? 1000 : 70;
  Release release{.kind = kind, .sums = std::vector<std::int64_t>(numbers)};
  for (std::size_t c = 0; c < sent.size(); ++c) {
    for (std::size_t i = 0; i < numbers; ++i) {
      const std::uint64_t number = sent.integers[1070 * c + (kind == 0 ? 0 : 1000) + i];
      release.sums[i] =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(release.sums[i]) + number);
    }
    const std::size_t at = 2 * c + kind;
    if (sent.nonces.empty()) continue;
    release.contributions.push_back({sent.clients[c],
                                     sent.step,
                                     sent.releases,
                                     {sent.samples[at], sent.unknowns[at]},
                                     sent.new_unknowns[at],
                                     sent.nonces[c]});
  }
  return release;
}

TEST(MaskSealing, ComesOffSumsOfAnyClients) {
  const MaskSealing sealing(3, KeysOfClient);
  MaskOpener opener(3, TwoKinds().ring, KeysOfClient);
  for (const auto& clients : {std::vector<std::uint64_t>{0}, {4, 2, 7}, {1, 2, 3, 4, 5, 6, 90}}) {
    const Updates plain = Messages(clients, clients.size());
    Updates sealed;
    const Updates& sent = sealing.Seal(TwoKinds(), plain, sealed);
    for (const std::uint32_t kind : {0U, 1U}) {
      Release release = SumOfKind(sent, kind);
      const std::vector<std::int64_t> masked = release.sums;
      opener.Open(release);
      EXPECT_EQ(release.sums, SumOfKind(plain, kind).sums);
      EXPECT_NE(release.sums, masked);
    }
  }
}

TEST(MaskSealing, LooksLikeChance) {
  Updates sealed;
  const Updates& sent =
      MaskSealing(3, KeysOfClient)
          .Seal(TwoKinds(), Messages(std::vector<std::uint64_t>(20, 5), 1), sealed);
  std::vector<int> ones(64);
  for (const std::uint64_t number : sent.integers) {
    for (unsigned bit = 0; bit < 64; ++bit) ones[bit] += static_cast<int>(number >> bit & 1);
  }
  // 21,400 fair coins for each bit: a standard deviation of 73, and 64 bits.
  for (const int count : ones) EXPECT_NEAR(count, 10'700, 4.5 * 73);
}

TEST(MaskSealing, UsesNoStreamTwice) {
  const MaskSealing sealing(3, KeysOfClient);
  Updates first;
  Updates second;
  sealing.Seal(TwoKinds(), Messages({5}, 1), first);
  sealing.Seal(TwoKinds(), Messages({5}, 2), second);  // the same turn, other numbers
  EXPECT_NE(first.nonces, second.nonces);
  const Updates one = Messages({5}, 1);
  const Updates two = Messages({5}, 2);
  std::size_t same = 0;  // masks
  for (std::size_t i = 0; i < one.integers.size(); ++i) {
    same += first.integers[i] - one.integers[i] == second.integers[i] - two.integers[i] ? 1 : 0;
  }
  EXPECT_EQ(same, 0U);
  Updates again;
  sealing.Seal(TwoKinds(), Messages({5}, 1), again);
  EXPECT_EQ(again.integers, first.integers) << "the same message is the same bytes";
}

TEST(MaskSealing, LeavesGarbageWhereAnythingIsMisreported) {
  Updates sealed;
  const Updates& sent = MaskSealing(3, KeysOfClient).Seal(TwoKinds(), Messages({1, 2}, 1), sealed);
  const std::vector<std::int64_t> right = SumOfKind(Messages({1, 2}, 1), 1).sums;
  MaskOpener opener(3, TwoKinds().ring, KeysOfClient);
  const auto garbles = [&](auto lie) {
    Release release = SumOfKind(sent, 1);
    lie(release.contributions[1]);
    opener.Open(release);
    std::size_t same = 0;
    for (std::size_t i = 0; i < right.size(); ++i) same += release.sums[i] == right[i] ? 1 : 0;
    return same == 0;
  };
  EXPECT_FALSE(garbles([](Contribution&) {}));
  EXPECT_TRUE(garbles([](Contribution& c) { ++c.step; }));
  EXPECT_TRUE(garbles([](Contribution& c) { ++c.releases; }));
  EXPECT_TRUE(garbles([](Contribution& c) { ++c.count.samples; }));
  EXPECT_TRUE(garbles([](Contribution& c) { ++c.count.unknowns; }));
  EXPECT_TRUE(garbles([](Contribution& c) { ++c.new_unknowns; }));
  EXPECT_TRUE(garbles([](Contribution& c) { c.client = 3; }));
  EXPECT_TRUE(garbles([](Contribution& c) { c.nonce[15] ^= 1; }));
}

TEST(MaskSealing, LeavesMessagesWithoutSumsAsTheyAre) {
  Updates nothing;
  nothing.Begin(9, std::vector<std::uint64_t>{1}, 0);
  nothing.fresh = {{1, 4}};
  Updates sealed;
  EXPECT_EQ(&MaskSealing(3, KeysOfClient).Seal(TwoKinds(), nothing, sealed), &nothing);
}

}  // namespace
}  // namespace polykern
