#include "polykern/privacy/pairwise_sealing.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/random.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;

constexpr std::size_t kKind0 = 900;
constexpr std::size_t kKind1 = 70;

ModelShape ShapeOfPairs() {
  ModelShape shape;
  shape.ring = {64, 0x1p-36};
  shape.sums = {kKind0, kKind1};
  return shape;
}

/// Clients that know each other.
struct ClosedFederation {
  explicit ClosedFederation(std::size_t clients, std::uint64_t of_epoch = 1) : epoch(of_epoch) {
    std::vector<MaskKeys> own;
    for (std::size_t k = 0; k < clients; ++k) {
      own.push_back(MakeMaskKeys());
      roster.push_back({"station-" + std::to_string(k), own.back().open});
    }
    for (std::size_t k = 0; k < clients; ++k) {
      pairs.push_back(PairedKeys(own[k].secret, roster[k].name, "f", epoch, roster));
    }
    tag = RosterTag(RosterDigest("f", epoch, roster));
  }
  PairwiseSealing Sealing(const PairwiseRules& rules = {.least_samples = 1, .disclosure = 1e9}) {
    return {epoch, tag, rules,
            [this](std::uint64_t client) { return std::span<const PairedKey>(pairs[client]); }};
  }

  std::uint64_t epoch;
  std::vector<RosterEntry> roster;
  std::vector<std::vector<PairedKey>> pairs;
  MaskNonce tag{};
};

/// A client's message with both kinds of sums, of small numbers.
Updates MessageOfPair(std::uint64_t client, std::uint64_t step, std::uint64_t samples = 4) {
  Random random(7, Purpose::kTest, client, step);
  Updates updates;
  updates.Begin(step, std::array{client}, 2);
  updates.blocks[1] = 1;
  updates.samples = {samples, samples};
  updates.unknowns = {6 * samples, 6 * samples};
  updates.new_unknowns = {0, 0};
  updates.fresh = {{samples, 6 * samples}};
  for (std::size_t i = 0; i < kKind0 + kKind1; ++i) {
    updates.integers.push_back(random.Below(1000) - 500);
  }
  return updates;
}

void AddTo(std::vector<std::uint64_t>& sum, const Updates& message) {
  sum.resize(message.integers.size());
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += message.integers[i];
}

TEST(PairwiseSealing, CancelsOverAllClientsAndOverNoFewer) {
  for (const std::size_t clients : {2U, 3U, 8U}) {
    ClosedFederation f(clients);
    const PairwiseSealing sealing = f.Sealing();
    std::vector<std::uint64_t> plain;
    std::vector<std::uint64_t> masked;
    for (std::uint64_t k = 0; k < clients; ++k) {
      if (k + 1 == clients) {
        const auto differ =
            std::ranges::count_if(std::views::iota(std::size_t{0}, plain.size()),
                                  [&](std::size_t i) { return plain[i] != masked[i]; });
        EXPECT_EQ(differ, static_cast<std::ptrdiff_t>(kKind0 + kKind1));
      }
      const Updates message = MessageOfPair(k, 5);
      Updates sealed;
      AddTo(plain, message);
      AddTo(masked, sealing.Seal(ShapeOfPairs(), message, sealed));
      EXPECT_EQ(sealed.nonces, std::vector{f.tag});
    }
    EXPECT_EQ(masked, plain);
  }
}

TEST(PairwiseSealing, UsesNoStreamTwice) {
  ClosedFederation f(3);
  const PairwiseSealing sealing = f.Sealing();
  std::set<std::uint64_t> first;
  std::size_t count = 0;
  for (const std::uint64_t step : {5U, 6U}) {
    for (std::uint64_t k = 0; k < 3; ++k) {
      const Updates message = MessageOfPair(k, step);
      Updates sealed;
      sealing.Seal(ShapeOfPairs(), message, sealed);
      for (const std::size_t at : {std::size_t{0}, kKind0}) {  // of each sum
        first.insert(sealed.integers[at] - message.integers[at]);
        ++count;
      }
    }
  }
  EXPECT_EQ(first.size(), count);
}

TEST(PairwiseSealing, LooksLikeChance) {
  ClosedFederation f(2);
  std::array<int, 256> counts{};
  Updates sealed;
  const Updates message = MessageOfPair(0, 1);
  f.Sealing().Seal(ShapeOfPairs(), message, sealed);
  for (const std::uint64_t number : sealed.integers) {
    for (unsigned shift = 0; shift < 64; shift += 8) ++counts[(number >> shift) & 0xFFU];
  }
  const double expected = 8.0 * (kKind0 + kKind1) / 256;
  double chi = 0;
  for (const int count : counts) chi += (count - expected) * (count - expected) / expected;
  // 255 degrees of freedom: mean 255, standard deviation 22.6; keys are new each time.
  EXPECT_LT(chi, 255 + 8 * 22.6);
}

TEST(PairwiseSealing, GivesTheSameBytesForTheSameMessage) {
  ClosedFederation f(3);
  Updates once;
  Updates again;
  f.Sealing().Seal(ShapeOfPairs(), MessageOfPair(1, 4), once);
  f.Sealing().Seal(ShapeOfPairs(), MessageOfPair(1, 4), again);
  EXPECT_EQ(once.integers, again.integers);
}

TEST(PairwiseSealing, WaitsForItsShareOfTheSamples) {
  ClosedFederation f(5);
  const PairwiseSealing sealing = f.Sealing({.least_samples = 32, .disclosure = 1e9});
  Updates sealed;
  EXPECT_THAT(MessageOf([&] { sealing.Seal(ShapeOfPairs(), MessageOfPair(0, 1, 7), sealed); }),
              HasSubstr("7 samples of this client, one of 5, which hides too little"));
  EXPECT_TRUE(sealed.integers.empty());
  sealing.Seal(ShapeOfPairs(), MessageOfPair(0, 1, 8), sealed);  // 4 others with 8 have 32
  EXPECT_FALSE(sealed.integers.empty());
}

TEST(PairwiseSealing, WaitsForItsShareOfTheUnknowns) {
  ClosedFederation f(5);
  const PairwiseSealing sealing = f.Sealing({.least_samples = 1, .disclosure = 0.5});
  Updates sealed;  // 900 numbers, 5 clients with 6 unknowns for each sample
  EXPECT_THROW(sealing.Seal(ShapeOfPairs(), MessageOfPair(0, 1, 59), sealed), TooFewSamples);
  sealing.Seal(ShapeOfPairs(), MessageOfPair(0, 1, 60), sealed);
}

TEST(PairwiseSealing, LeavesMessagesWithoutSumsAsTheyAre) {
  ClosedFederation f(2);
  Updates none;
  none.Begin(3, std::array<std::uint64_t, 1>{0}, 0);
  Updates sealed;
  EXPECT_EQ(&f.Sealing().Seal(ShapeOfPairs(), none, sealed), &none);
}

TEST(ARoster, IsTheSameInAnyOrderAndAnotherWithAnyChange) {
  const ClosedFederation f(3);
  std::vector<RosterEntry> turned(f.roster.rbegin(), f.roster.rend());
  const auto digest = RosterDigest("f", 1, f.roster);
  EXPECT_EQ(RosterDigest("f", 1, turned), digest);
  EXPECT_NE(RosterDigest("g", 1, turned), digest);
  EXPECT_NE(RosterDigest("f", 2, turned), digest);
  turned[0].key[3] ^= 1U;
  EXPECT_NE(RosterDigest("f", 1, turned), digest);
  turned.pop_back();
  EXPECT_NE(RosterDigest("f", 1, turned), digest);
}

TEST(ARoster, NamesEverybodyOnceAndTheClientItself) {
  const MaskKeys own = MakeMaskKeys();
  const MaskKeys other = MakeMaskKeys();
  const std::vector<RosterEntry> twice = {{"a", own.open}, {"b", other.open}, {"b", other.open}};
  EXPECT_EQ(MessageOf([&] { PairedKeys(own.secret, "a", "f", 1, twice); }),
            "b is among the clients twice");
  EXPECT_EQ(MessageOf([&] { PairedKeys(own.secret, "c", "f", 1, std::span(twice).first(2)); }),
            "c is not among the clients");
}

TEST(PairwiseRefusals, NameWhatIsMissing) {
  const ClosedFederation f(3);
  Release release;
  for (std::uint64_t k = 0; k < 3; ++k) {
    release.contributions.push_back({.client = k, .step = 4, .nonce = f.tag});
  }
  EXPECT_EQ(PairwiseRefusal(release, 3), "");
  release.contributions.push_back({.client = 1, .step = 6, .nonce = f.tag});
  EXPECT_THAT(PairwiseRefusal(release, 3), HasSubstr("only 1 of 3 clients have answered step 6"));
  release.contributions.back() = {.client = 1, .step = 4, .nonce = {1}};
  EXPECT_THAT(PairwiseRefusal(release, 3), HasSubstr("masked for other clients"));
}

}  // namespace
}  // namespace polykern
