#include "polykern/privacy/noise_terms.h"

#include <cmath>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/registry.h"

namespace polykern {
namespace {

NoiseTerms SomeTerms() {
  return {.epsilon = 1, .delta = 1e-6, .releases = 64, .numbers = 1860, .ring = {64, 0x1p-16}};
}

TEST(NoiseTerms, AreThoseOfAnAlgorithmWithNoise) {
  AlgorithmOptions options;
  EXPECT_FALSE(NoiseTermsOf(*MakeAlgorithm("pof-gram", options, {3, 100, 5}), 1).noisy());
  EXPECT_FALSE(NoiseTermsOf(*MakeAlgorithm("pof-newton", options, {3, 100, 5}), 1).noisy());
  options.epsilon = 2;
  options.delta = 1e-5;
  options.releases = 9;
  const auto algorithm = MakeAlgorithm("pof-gram", options, {3, 100, 5});
  const NoiseTerms terms = NoiseTermsOf(*algorithm, 3);
  EXPECT_EQ(terms, (NoiseTerms{2, 1e-5, 9, 3, algorithm->shape().sums[0], {64, 0x1p-16}}));
  // Nothing to begin with, and all of it in the end, with the least noise.
  const std::uint64_t sigma = terms.Sigma();
  EXPECT_EQ(terms.EpsilonSpent(sigma, 0), 0);
  EXPECT_LE(terms.EpsilonSpent(sigma, 9), 2);
  EXPECT_GT(terms.EpsilonSpent(sigma - 1, 9), 2);
}

TEST(NoiseTerms, BindMasksToWhatWasPromised) {
  EXPECT_EQ(BindingOf({}), "") << "masks without noise stay what they were";
  std::set<std::string> all = {BindingOf(SomeTerms())};
  const auto differs = [&](auto change) {
    NoiseTerms terms = SomeTerms();
    change(terms);
    return all.insert(BindingOf(terms)).second;
  };
  EXPECT_TRUE(differs([](NoiseTerms& t) { t.epsilon = std::nextafter(1, 2); }));
  EXPECT_TRUE(differs([](NoiseTerms& t) { t.delta = 1e-5; }));
  EXPECT_TRUE(differs([](NoiseTerms& t) { t.releases = 63; }));
  EXPECT_TRUE(differs([](NoiseTerms& t) { t.samples_per_event = 2; }));
  EXPECT_FALSE(differs([](NoiseTerms& t) { t.numbers = 1; })) << "is in each stream's key";
}

}  // namespace
}  // namespace polykern
