#include "polykern/sim/yardsticks.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/registry.h"
#include "polykern/data/synthetic.h"
#include "polykern/sim/experiment.h"
#include "polykern/sim/ranks/thread_ranks_testing.h"

namespace polykern {
namespace {

Yardsticks Measured(const Stream& stream, const Attendance& attendance, std::size_t threads = 1) {
  Workers workers(threads);
  const auto alone = RunAlone();
  return MeasureYardsticks(stream, attendance, WeightPlan(stream), {0, stream.clients()}, workers,
                           *alone);
}

/// Every label that a client learns from, client after client.
std::vector<std::vector<double>> Labels(const Stream& stream, const Attendance& attendance) {
  std::vector<std::vector<double>> labels(stream.clients());
  SampleBlock block;
  for (std::size_t step = 0; step < stream.steps(); ++step) {
    for (std::size_t k = 0; k < stream.clients(); ++k) {
      stream.Read(step, k, 1, block);
      if (block.present[0] != 0 && attendance.Attends(k, step)) labels[k].push_back(block.y[0]);
    }
  }
  return labels;
}

TEST(Yardsticks, AreWhatASlowPassOverAllLabelsGives) {
  const SyntheticFleet fleet({.clients = 70, .steps = 40});
  const Attendance attendance = {3, 0.6};
  double running = 0;
  double last = 0;
  double sum = 0;
  double square = 0;
  double count = 0;
  for (const std::vector<double>& labels : Labels(fleet, attendance)) {
    for (std::size_t i = 0; i < labels.size(); ++i) {
      double before = 0;
      for (std::size_t j = 0; j < i; ++j) before += labels[j];
      const double mean = i == 0 ? 0.5 : before / static_cast<double>(i);
      running += std::pow(labels[i] - mean, 2);
      last += std::pow(labels[i] - (i == 0 ? 0.5 : labels[i - 1]), 2);
      sum += labels[i];
      square += labels[i] * labels[i];
      ++count;
    }
  }
  const Yardsticks found = Measured(fleet, attendance);
  EXPECT_NEAR(found.running_mean, running / count, 1e-12);
  EXPECT_NEAR(found.last_label, last / count, 1e-12);
  EXPECT_NEAR(found.variance, square / count - std::pow(sum / count, 2), 1e-12);
  EXPECT_EQ(found.best(), std::min(found.running_mean, found.last_label));
}

TEST(Yardsticks, OfAClientAreTheBetterOfBothOnItsOwnLabels) {
  const std::vector<float> x(6);
  const std::vector<double> y = {0.5, 0, 1, 0, 0, 0};  // steps x clients; the second has no label
  const std::vector<std::uint8_t> present = {1, 0, 1, 0, 1, 0};
  const auto view = [](const auto& numbers, std::size_t size) {
    const auto width = static_cast<std::ptrdiff_t>(sizeof(numbers[0]));
    const auto* data = reinterpret_cast<const std::byte*>(numbers.data());
    return ArrayView{data, size == 8, {2 * width, width, width}};
  };
  const ArrayStream stream({3, 2, 1}, view(x, 4), view(y, 8), present);
  const Yardsticks found = Measured(stream, {});
  // The mean says 0.5, 0.5, 0.75; the last label 0.5, 0.5, 1.
  EXPECT_DOUBLE_EQ(found.running_mean, (0 + 0.25 + 0.5625) / 3);
  EXPECT_DOUBLE_EQ(found.last_label, (0 + 0.25 + 1) / 3);
  ASSERT_EQ(found.client.size(), 2U);
  EXPECT_DOUBLE_EQ(found.client[0], found.running_mean);
  EXPECT_TRUE(std::isnan(found.client[1]));
}

TEST(Yardsticks, HaveTheSameBitsOnAnyThreadsAndRanks) {
  const SyntheticFleet fleet({.clients = 201, .steps = 15});
  const Attendance attendance = {1, 0.7};
  const Yardsticks one = Measured(fleet, attendance);
  const auto expect_same = [&](const Yardsticks& other) {
    EXPECT_EQ(other.running_mean, one.running_mean);
    EXPECT_EQ(other.last_label, one.last_label);
    EXPECT_EQ(other.variance, one.variance);
    EXPECT_EQ(other.client, one.client);
  };
  expect_same(Measured(fleet, attendance, 3));
  RunRanks(3, [&](Communicator& ranks) {
    Workers workers(1);
    expect_same(MeasureYardsticks(fleet, attendance, WeightPlan(fleet),
                                  OwnClients(fleet.clients(), ranks), workers, ranks));
  });
}

TEST(Yardsticks, StandBesideEveryRowWithItsClientsErrors) {
  const SyntheticFleet fleet({.clients = 5, .steps = 30});
  ExperimentOptions options;
  options.repetitions = 2;
  Progress progress;
  Row row;
  row.options.kernels = 5;
  const auto results = RunExperiment(fleet, {row, {"local", row.options}}, options, progress);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].naive->last_label, results[1].naive->last_label);
  for (const RowResult& result : results) {
    ASSERT_TRUE(result.skill());
    EXPECT_DOUBLE_EQ(*result.skill(), 1 - result.mse.mean / result.naive->best());
    EXPECT_DOUBLE_EQ(*result.r2(), 1 - result.mse.mean / result.naive->variance);
    // Every client has as many samples, so their mean is the row's.
    EXPECT_NEAR(SpreadOf(result.client_mse).mean, result.mse.mean, 1e-12);
  }
}

TEST(Yardsticks, KnowNoLabelThatComesAfterItsPredictionIsDue) {
  const std::vector<double> labels = {0.1, 0.9, 0.3, 0.6};
  const std::vector<double> x(labels.size());
  const auto view = [](const std::vector<double>& numbers) {
    return ArrayView{reinterpret_cast<const std::byte*>(numbers.data()), true, {8, 8, 8}};
  };
  const ArrayStream stream({labels.size(), 1, 1, 3}, view(x), view(labels));
  const Yardsticks found = Measured(stream, {0, 1});
  // Before the first three there is none; the last one is predicted from 0.1 alone.
  const double middle = 0.16 + 0.16 + 0.04;
  EXPECT_NEAR(found.last_label, (middle + 0.25) / 4, 1e-12);
  EXPECT_NEAR(found.running_mean, (middle + 0.25) / 4, 1e-12);
}

}  // namespace
}  // namespace polykern
