#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/core/random.h"
#include "polykern/federation/client.h"
#include "polykern/federation/coordinator.h"
#include "polykern/federation/updates_testing.h"

namespace polykern {
namespace {

/// A whole federation, its samples a pure function of client and step.
class Federation {
 public:
  Federation(const Algorithm& algorithm, std::size_t clients, std::size_t lanes)
      : clients_(algorithm, 0, clients),
        coordinator_(algorithm, clients, lanes),
        lanes_(lanes),
        round_(algorithm) {}

  /// One step in cohorts of `cohort` clients, which send through random lanes in random order.
  void Step(std::size_t cohort, Random& random) {
    const std::uint64_t step = coordinator_.broadcast().step;
    std::vector<std::size_t> starts;
    for (std::size_t k = 0; k < clients_.size(); k += cohort) starts.push_back(k);
    random.Shuffle(starts);
    std::vector<Updates> sent;
    for (const std::size_t start : starts) {
      const std::size_t count = std::min(cohort, clients_.size() - start);
      std::vector<float> x;
      std::vector<std::uint8_t> present;
      std::vector<double> labels;
      for (std::size_t k = start; k < start + count; ++k) {
        Random sample(5, Purpose::kTest, k, step);
        for (std::size_t c = 0; c < kDimension; ++c) {
          x.push_back(static_cast<float>(sample.Normal()));
        }
        labels.push_back(sample.Uniform());
        present.push_back(sample.Below(3) != 0);
      }
      round_.Predict(coordinator_.broadcast(), clients_, start, x, present);
      sent.push_back(round_.Learn(labels));
    }
    random.Shuffle(sent);
    for (const Updates& updates : sent) coordinator_.Receive(updates, random.Below(lanes_));
    coordinator_.Commit();
  }

  /// Model and private states, as bits.
  std::vector<std::uint64_t> Bits() const {
    auto bits = BitsOf(coordinator_.Save());
    for (const std::uint64_t state : BitsOf(clients_.Save())) bits.push_back(state);
    return bits;
  }

  Clients& clients() { return clients_; }
  Coordinator& coordinator() { return coordinator_; }

 private:
  Clients clients_;
  Coordinator coordinator_;
  std::size_t lanes_;
  ClientRound round_;
};

TEST(Federation, HasTheSameBitsForAnyLanesAnyCohortsAndAnyOrderOfArrival) {
  const auto algorithm = NewAlgorithm();
  Random order(32, Purpose::kTest);
  Federation plain(*algorithm, 41, 1);
  for (int step = 0; step < 12; ++step) plain.Step(41, order);
  ASSERT_NE(plain.coordinator().broadcast().model[0], 0);
  for (const std::size_t lanes : {1U, 2U, 5U}) {
    for (const std::size_t cohort : {1U, 3U, 16U, 41U}) {
      Federation other(*algorithm, 41, lanes);
      for (int step = 0; step < 12; ++step) other.Step(cohort, order);
      EXPECT_EQ(other.Bits(), plain.Bits()) << lanes << " lanes, cohorts of " << cohort;
    }
  }
}

TEST(Federation, ResumesWithTheSameBitsFromASaveInTheMiddle) {
  const auto algorithm = NewAlgorithm();
  Random order(33, Purpose::kTest);
  Federation whole(*algorithm, 20, 2);
  for (int step = 0; step < 6; ++step) whole.Step(7, order);

  Federation resumed(*algorithm, 20, 3);
  resumed.Step(20, order);  // whatever it did before is replaced
  resumed.coordinator().Load(whole.coordinator().broadcast().step, whole.coordinator().Save());
  resumed.clients().Load(whole.clients().Save());
  EXPECT_EQ(resumed.coordinator().broadcast().step, 6U);
  EXPECT_EQ(resumed.coordinator().broadcast().model, whole.coordinator().broadcast().model);
  for (int step = 0; step < 6; ++step) {
    whole.Step(7, order);
    resumed.Step(4, order);
  }
  EXPECT_EQ(resumed.coordinator().broadcast().step, 12U);
  EXPECT_EQ(resumed.Bits(), whole.Bits());
}

TEST(Federation, TakesInALateJoinerFromItsFirstMessageOn) {
  // A client that joins at step 3 changes nothing before; from then on it counts like the others.
  const auto algorithm = NewAlgorithm();
  Coordinator late(*algorithm, 1);
  Coordinator from_the_start(*algorithm, 2);
  for (std::uint64_t step = 0; step < 3; ++step) {
    late.Receive(From(*algorithm, step, 0, 1, 0.3F));
    from_the_start.Receive(From(*algorithm, step, 0, 1, 0.3F));
    late.Commit();
    from_the_start.Commit();
  }
  late.AddClients(1);
  for (std::uint64_t step = 3; step < 6; ++step) {
    for (Coordinator* each : {&late, &from_the_start}) {
      each->Receive(From(*algorithm, step, 1, 4, -0.9F));
      each->Receive(From(*algorithm, step, 0, 1, 0.3F));
      EXPECT_EQ(each->participants(), 2U);
      each->Commit();
    }
  }
  EXPECT_EQ(BitsOf(late.Save()), BitsOf(from_the_start.Save()));
}

}  // namespace
}  // namespace polykern
