// Simulations whose clients are on a device (simulation_device.cc); here a CPU plays it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/io/folder_testing.h"
#include "polykern/sim/fingerprint_internal.h"
#include "polykern/sim/fleet.h"
#include "polykern/sim/simulation_testing.h"

namespace polykern {
namespace {

/// What was asked of a device.
struct DeviceCalls {
  bool at_start = false;
  std::vector<std::size_t> states = {};  // of which clients
  int all_states = 0;
  int scores = 0;
};

/// The slow version: all clients as one cohort, states and scores of its own.
class SlowFleet final : public polykern::Fleet {
 public:
  SlowFleet(const Algorithm& algorithm, const Stream& stream, const Attendance& attendance,
            const Clients& clients, DeviceCalls& calls)
      : algorithm_(algorithm),
        stream_(stream),
        attendance_(attendance),
        calls_(calls),
        clients_(algorithm, 0, clients.size()),
        scores_(clients.size(), algorithm.experts()),
        round_(algorithm),
        inbox_(algorithm.NewServer()->NewInbox()) {
    if (!calls.at_start) clients_.Load(clients.Save());
  }

  FleetTotals Step(const Broadcast& sent, std::span<const double> uniforms,
                   std::span<double> predictions,
                   std::span<const std::span<std::int64_t>> sums) override {
    if (fails_at && sent.step == *fails_at) throw Error("the device has other numbers");
    if (breaks_at && sent.step == *breaks_at) throw DeviceFailure("the device is gone");
    stream_.Read(sent.step, 0, clients_.size(), block_);
    for (std::size_t k = 0; k < clients_.size(); ++k) {
      if (!attendance_.Attends(k, sent.step)) block_.present[k] = 0;
    }
    round_.Predict(sent, clients_, 0, block_.x, block_.present, uniforms);
    const Updates& updates = round_.Learn(block_.y);
    inbox_->Clear();
    inbox_->Add(updates);
    const auto received = inbox_->Sums();
    for (std::size_t i = 0; i < sums.size(); ++i) {
      for (std::size_t j = 0; j < sums[i].size(); ++j) sums[i][j] += received[i][j];
    }
    return Score(sent.step, updates, predictions);
  }
  void ReadState(std::size_t client, std::span<double> state) override {
    calls_.states.push_back(client);
    std::ranges::copy(clients_.State(client), state.begin());
  }
  void ReadStates(Clients& clients) override {
    ++calls_.all_states;
    clients.Load(clients_.Save());
  }
  void ReadScores(Scoreboard& scores) override {
    ++calls_.scores;
    for (std::size_t k = 0; k < clients_.size(); ++k) {
      scores.Set(k, {scores_.SquaredError(k), scores_.Regret(k), 0, scores_.Steps(k),
                     scores_.LossesInUnitRange(k)});
    }
  }

  std::optional<std::uint64_t> fails_at = {};
  std::optional<std::uint64_t> breaks_at = {};

 private:
  FleetTotals Score(std::size_t step, const Updates& updates, std::span<double> predictions) {
    FleetTotals totals;
    std::ranges::fill(predictions, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < round_.participants().size(); ++i) {
      const std::size_t k = round_.participants()[i];
      const double f = round_.predictions()[i];
      const double error = f - block_.y[k];
      scores_.Record(k, error * error, algorithm_.loss().Value(f, block_.y[k]),
                     round_.KernelLosses(i));
      totals.squared_error.Add(error * error);
      totals.fingerprint += Mix(std::bit_cast<std::uint64_t>(f) ^ Mix(step * clients_.size() + k));
      if (!predictions.empty()) predictions[k] = f;
      const std::uint64_t numbers = updates.NumbersOf(algorithm_.shape(), i);
      totals.traffic.Add({1, numbers, 4 * numbers + 4 * updates.BlocksOf(i).size(), 0, numbers});
    }
    for (std::size_t k = 0; k < clients_.size(); ++k) totals.regret.Add(scores_.Regret(k));
    return totals;
  }

  const Algorithm& algorithm_;
  const Stream& stream_;
  Attendance attendance_;
  DeviceCalls& calls_;
  Clients clients_;
  Scoreboard scores_;
  ClientRound round_;
  std::unique_ptr<Inbox> inbox_;
  SampleBlock block_;
};

class SlowFleetData final : public FleetData {
 public:
  SlowFleetData(const Stream& stream, const Simulation::Options& options)
      : stream_(stream), attendance_{options.seed, options.participation} {}

  std::unique_ptr<polykern::Fleet> NewFleet(const Algorithm& algorithm, Clients& clients,
                                            bool at_start) const override {
    calls.at_start = at_start;
    auto fleet = std::make_unique<SlowFleet>(algorithm, stream_, attendance_, clients, calls);
    fleet->fails_at = fails_at;
    fleet->breaks_at = breaks_at;
    return fleet;
  }
  bool MeasureLabels(std::span<DoubleSum, 4>, std::int64_t&) const override { return false; }

  mutable DeviceCalls calls;
  std::optional<std::uint64_t> fails_at = {};
  std::optional<std::uint64_t> breaks_at = {};

 private:
  const Stream& stream_;
  Attendance attendance_;
};

/// A run from clients that have learnt before, if that is asked for.
struct RunOfFleet {
  RunOfFleet(const SimulatedFleet& f, const Simulation::Options& options,
             std::span<const double> states = {})
      : plan(f.fleet), clients(*f.algorithm, 0, f.fleet.clients()) {
    if (!states.empty()) clients.Load(states);
    Workers workers(2);
    Simulation simulation(*f.algorithm, f.fleet, clients, workers, options);
    run = simulation.Run({.weights = plan});
  }

  WeightPlan plan;
  Clients clients;
  Repetition run;
};

void ExpectTheSameRun(const Repetition& one, const Repetition& other) {
  EXPECT_EQ(one.fingerprint, other.fingerprint);
  EXPECT_EQ(one.mse, other.mse);
  EXPECT_EQ(one.bound, other.bound);
  EXPECT_EQ(one.unit_losses, other.unit_losses);
  EXPECT_EQ(one.over_bound, other.over_bound);
  EXPECT_EQ(BitsOf(one.regret), BitsOf(other.regret));
  EXPECT_EQ(BitsOf(one.client_mse), BitsOf(other.client_mse));
  EXPECT_EQ(BitsOf(one.step_mse), BitsOf(other.step_mse));
  EXPECT_EQ(BitsOf(one.step_regret), BitsOf(other.step_regret));
  EXPECT_EQ(BitsOf(one.predictions), BitsOf(other.predictions));
  EXPECT_EQ(BitsOf(one.weights.trace), BitsOf(other.weights.trace));
  EXPECT_EQ(BitsOf(one.weights.last), BitsOf(other.weights.last));
  EXPECT_EQ(one.traffic.messages, other.traffic.messages);
  EXPECT_EQ(one.traffic.up_numbers, other.traffic.up_numbers);
  EXPECT_EQ(one.traffic.up_bytes, other.traffic.up_bytes);
  EXPECT_EQ(one.traffic.down_bytes, other.traffic.down_bytes);
  EXPECT_EQ(one.traffic.largest_up, other.traffic.largest_up);
}

TEST(DeviceSimulation, GivesWhatTheCpuGives) {
  for (const char* name : {"pof-mkl", "ofskl", "vm-kofl"}) {
    SCOPED_TRACE(name);
    SimulatedFleet f;
    f.Use(name);
    const RunOfFleet cpu(f, f.options);
    const SlowFleetData data(f.fleet, f.options);
    f.options.device = &data;
    const RunOfFleet device(f, f.options);
    ExpectTheSameRun(device.run, cpu.run);
    EXPECT_EQ(data.calls.scores, 1);
  }
}

TEST(DeviceSimulation, BringsStatesThereAndBackIfTheyAreCarried) {
  SimulatedFleet f;
  const RunOfFleet before(f, f.options);
  const std::vector<double> learnt = before.clients.Save();
  const RunOfFleet cpu(f, f.options, learnt);
  const SlowFleetData data(f.fleet, f.options);
  f.options.device = &data;
  const RunOfFleet device(f, f.options, learnt);
  ExpectTheSameRun(device.run, cpu.run);
  EXPECT_NE(device.run.fingerprint, before.run.fingerprint);
  EXPECT_FALSE(data.calls.at_start);
  EXPECT_EQ(data.calls.all_states, 1);
  EXPECT_EQ(BitsOf(device.clients.Save()), BitsOf(cpu.clients.Save()));
}

TEST(DeviceSimulation, ReadsNoStateBeyondThoseThatAResultShows) {
  SimulatedFleet f;
  const SlowFleetData data(f.fleet, f.options);
  f.options.device = &data;
  f.options.carries_states = false;
  const RunOfFleet device(f, f.options);
  EXPECT_TRUE(data.calls.at_start);
  EXPECT_EQ(data.calls.all_states, 0);
  ASSERT_GT(data.calls.states.size(), device.plan.clients.size());
  for (const std::size_t client : data.calls.states) {
    EXPECT_TRUE(std::ranges::find(device.plan.clients, client) != device.plan.clients.end());
  }
  // The traced ones at every step that is shown, and at the last one all of the plan.
  EXPECT_EQ(data.calls.states.size(), (device.plan.steps.size() - 1) * device.plan.traced.size() +
                                          device.plan.clients.size());
}

TEST(DeviceSimulation, IsGivenTheDrawsOfTheStep) {
  SimulatedFleet f;
  std::vector<double> uniforms(f.fleet.clients() * f.fleet.steps());
  for (std::size_t i = 0; i < uniforms.size(); ++i) {
    uniforms[i] = static_cast<double>(i * 7919 % 10'007) / 10'007;
  }
  const RunOfFleet drawn(f, f.options);
  f.options.uniforms = uniforms;
  const RunOfFleet cpu(f, f.options);
  const SlowFleetData data(f.fleet, f.options);
  f.options.device = &data;
  ExpectTheSameRun(RunOfFleet(f, f.options).run, cpu.run);
  EXPECT_NE(drawn.run.fingerprint, cpu.run.fingerprint);
}

TEST(DeviceSimulation, DivergesWhereTheDeviceSaysSo) {
  SimulatedFleet f;
  SlowFleetData data(f.fleet, f.options);
  data.fails_at = 5;
  f.options.device = &data;
  const Repetition run = RunOfFleet(f, f.options).run;
  ASSERT_TRUE(run.divergence);
  EXPECT_EQ(run.divergence->step, 5U);
  EXPECT_EQ(run.divergence->message, "the device has other numbers");
  EXPECT_EQ(run.step_mse.size(), 5U);
}

TEST(DeviceSimulation, EndsWithADeviceThatIsGone) {
  SimulatedFleet f;
  SlowFleetData data(f.fleet, f.options);
  data.breaks_at = 5;
  f.options.device = &data;
  EXPECT_THROW(RunOfFleet(f, f.options), DeviceFailure);
}

TEST(DeviceSimulation, RefusesWhatDevicesDoNot) {
  SimulatedFleet f;
  const SlowFleetData data(f.fleet, f.options);
  f.options.device = &data;
  f.options.coverage = 0.9;
  EXPECT_EQ(MessageOf([&] { RunOfFleet(f, f.options); }),
            "prediction intervals are not made on a GPU yet: choose device=cpu");
  f.options.coverage.reset();
  f.options.keep_predictions = false;
  const std::vector<double> numbers(f.fleet.dimension());
  const ArrayView same{reinterpret_cast<const std::byte*>(numbers.data()), true, {0, 0, 8}};
  const ArrayStream far({4, 2, f.fleet.dimension(), 3}, same, same);
  Workers workers(1);
  Clients clients(*f.algorithm, 0, 2);
  EXPECT_EQ(MessageOf([&] { Simulation(*f.algorithm, far, clients, workers, f.options); }),
            "predictions are not made several steps ahead on a GPU yet: choose device=cpu");
}

}  // namespace
}  // namespace polykern
