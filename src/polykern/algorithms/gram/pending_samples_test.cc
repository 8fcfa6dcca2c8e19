#include "polykern/algorithms/gram/pending_samples.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/random.h"

namespace polykern {
namespace {

constexpr std::size_t kExperts = 4;
constexpr std::size_t kSizesOfEach = 2;

class Pending : public testing::Test {
 protected:
  PendingSamples View(std::uint64_t most = 100, std::uint64_t kept = 1000) {
    return {state_, most, kept};
  }
  void Learn(int count) {
    for (int i = 0; i < count; ++i) View().Learn(3);
  }
  static void ExpectRange(const PendingSamples::Range& range, std::uint64_t begin,
                          std::uint64_t end) {
    EXPECT_EQ(range.begin, begin);
    EXPECT_EQ(range.end, end);
  }

  std::vector<double> state_ = std::vector<double>(PendingSamples::StateSize(kExperts));
};

TEST_F(Pending, IsWhatCameSinceTheLastSumThatCounted) {
  Learn(5);
  ExpectRange(View().Next(2), 0, 5);
  EXPECT_EQ(View().fresh(), (SampleCount{5, 15}));
  View().Send(std::vector<std::uint32_t>{2});
  Learn(3);
  EXPECT_EQ(View().reach(), 0U) << "it may not count";
  View().Settle(true, kSizesOfEach);
  EXPECT_EQ(View().reach(), 5U);
  ExpectRange(View().Next(2), 5, 8);
  ExpectRange(View().Next(0), 0, 8);
  EXPECT_EQ(View().fresh(), (SampleCount{3, 9}));
}

TEST_F(Pending, GoesOnBeingPendingIfItDidNotCount) {
  Learn(5);
  View().Send(std::vector<std::uint32_t>{0, 2});
  Learn(1);
  View().Settle(false, kSizesOfEach);
  EXPECT_EQ(View().reach(), 0U);
  ExpectRange(View().Next(0), 0, 6);
  ExpectRange(View().Next(2), 0, 6);
  EXPECT_EQ(View().fresh(), (SampleCount{6, 18}));
}

TEST_F(Pending, IsInALargerSizeOfTheSameKernelAsWell) {
  Learn(5);
  View().Send(std::vector<std::uint32_t>{3});
  View().Settle(true, kSizesOfEach);
  ExpectRange(View().Next(2), 5, 5);
  ExpectRange(View().Next(3), 5, 5);
  ExpectRange(View().Next(1), 0, 5);  // of the other kernel
}

TEST_F(Pending, LeavesAtMostSoManySamplesAtOnceAndTheOldestFirst) {
  Learn(250);
  for (const std::uint64_t begin : {0, 100, 200}) {
    ExpectRange(View().Next(1), begin, std::min<std::uint64_t>(begin + 100, 250));
    View().Send(std::vector<std::uint32_t>{1});
    View().Settle(true, kSizesOfEach);
  }
  ExpectRange(View().Next(1), 250, 250);
}

TEST_F(Pending, DoesNotAskForWhatIsNoLongerKept) {
  Learn(50);
  ExpectRange(View(100, 20).Next(1), 30, 50);
  View(100, 20).Send(std::vector<std::uint32_t>{1});
  Learn(15);
  View(100, 20).Settle(true, kSizesOfEach);
  ExpectRange(View(100, 20).Next(1), 50, 65);
}

/// Whatever counts and whatever is lost, a sample is in each expert's sums once.
TEST_F(Pending, CountsEverySampleOnceWhateverIsLost) {
  Random random(5, Purpose::kTest);
  std::vector<std::uint64_t> next(kExperts);  // the first sample that no counted sum has
  std::vector<PendingSamples::Range> sent(kExperts);
  std::vector<std::uint32_t> turn;
  std::uint64_t told = 0;
  bool counted = true;
  for (int step = 0; step < 500; ++step) {
    Learn(1 + static_cast<int>(random.Below(4)));
    PendingSamples pending = View(7);
    if (counted) {
      for (const std::uint32_t expert : turn) next[expert] = sent[expert].end;
    }
    pending.Settle(counted, 1);
    const SampleCount fresh = pending.fresh();
    turn.clear();
    for (std::uint32_t expert = 0; expert < kExperts; ++expert) {
      if (random.Below(3) > 0) continue;
      turn.push_back(expert);
      sent[expert] = pending.Next(expert);
      EXPECT_EQ(sent[expert].begin, next[expert]);
      EXPECT_LE(sent[expert].end - sent[expert].begin, 7U);
    }
    pending.Send(turn);
    counted = random.Below(4) > 0;
    if (!counted) continue;
    told += fresh.samples;
    EXPECT_EQ(told, pending.learnt());
  }
}

TEST_F(Pending, OfANewEpochWereInNoUpdate) {
  PendingSamples pending = View();
  for (int i = 0; i < 10; ++i) pending.Learn(6);
  pending.Send(std::vector<std::uint32_t>{0});
  pending.Learn(6);
  pending.Settle(false, kSizesOfEach);  // the ten are pending again
  EXPECT_EQ(pending.Next(0).begin, 0U);
  pending.Send(std::vector<std::uint32_t>{1});  // eleven left, whatever became of them
  for (int i = 0; i < 3; ++i) pending.Learn(6);
  for (int twice = 0; twice < 2; ++twice) {
    pending.BeginEpoch();
    for (std::size_t expert = 0; expert < kExperts; ++expert) {
      EXPECT_EQ(pending.Next(expert).begin, 11U);
      EXPECT_EQ(pending.Next(expert).end, 14U);
    }
    EXPECT_EQ(pending.reach(), 11U);
    EXPECT_EQ(pending.fresh(), (SampleCount{3, 18}));
  }
  pending.Settle(false, kSizesOfEach);  // nothing of the older epoch comes back
  EXPECT_EQ(pending.Next(0).begin, 11U);
}

}  // namespace
}  // namespace polykern
