#include "polykern/gpu/turn_sums.h"

#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "polykern/algorithms/gram/gram_inbox.h"
#include "polykern/algorithms/gram/gram_sums.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/kernels.h"
#include "polykern/data/synthetic.h"
#include "polykern/gpu/emulated_device.h"
#include "polykern/gpu/exp_table.h"
#include "polykern/gpu/fleet_buffers.h"
#include "polykern/gpu/fleet_samples.h"
#include "polykern/gpu/fleet_shape.h"
#include "polykern/gpu/gram_clients.h"
#include "polykern/sim/stream_history.h"

// The sums of one expert over old samples, beside those that the CPU's clients would send.

namespace polykern::gpu {
namespace {

constexpr std::size_t kClients = 31;
constexpr std::size_t kStep = 19;

class PastSums : public testing::TestWithParam<std::uint32_t> {
 protected:
  PastSums() {
    shape_.threads = device_->threads();
    samples_.Describe(a_);
    clients_.Describe(a_);
    own_.Describe(a_);
    between_.Describe(a_);
    table_ = Buffer<ExpEntry>(*device_, ExpTable().size());
    a_.exp_table = table_.data();
    a_.log_kernels = std::log(20.0);
    a_.seed = 11;
    a_.count = kClients;
    a_.step = kStep;
    frequencies_ = PackFrequencies(*algorithm_, shape_);
    a_.frequencies = frequencies_.data();
    own_.Clear(*queue_);
    clients_.Clear(*queue_);
  }

  /// Those there at the step have learnt from all their samples, and sent all but the last ones:
  /// client k lacks k + 1 of them, if it has so many.
  void LearnAll(std::uint32_t expert) {
    for (std::size_t k = 0; k < kClients; ++k) {
      std::uint32_t learnt = 0;
      for (std::size_t step = 0; step <= kStep; ++step) {
        learnt += attendance_.Attends(k, step) ? 1 : 0;
      }
      present_.push_back(attendance_.Attends(k, kStep) ? 1 : 0);
      learnt_.push_back(learnt);
      begin_.push_back(learnt > k + 1 ? learnt - static_cast<std::uint32_t>(k) - 1 : 0);
      a_.learnt[k] = learnt;  // the emulated device's memory is ours
      a_.reach[k] = learnt / 2;
      a_.since[expert * kClients + k] = -1 - static_cast<int>(begin_[k]);
    }
    a_.present = present_.data();
  }
  /// What the CPU's clients send of it: sums, without weights.
  GramSum Expected(std::uint32_t expert) {
    const QuarteredKernels kernels(*algorithm_->definition().bank);
    GramSums sums(grid_, kernels);
    StreamHistory history(stream_, attendance_);
    history.Begin(kStep);
    GramSum expected;
    for (std::size_t k = 0; k < kClients; ++k) {
      if (present_[k] == 0) continue;
      LearntSamples samples;
      history.Read(k, begin_[k], learnt_[k], learnt_[k], samples);
      GramSum one{1, {samples.y.size(), UnknownsOf(samples)}};
      one.squares = samples.y.size() * samples.y.size();
      const std::uint64_t told = std::max(learnt_[k] / 2, begin_[k]) - begin_[k];
      one.new_unknowns = UnknownsOf(samples, told);
      std::vector<std::uint64_t> integers;
      sums.Append(expert, samples, std::vector<double>(grid_.experts()), integers);
      integers.resize(integers.size() - grid_.experts());
      one.sums.assign(integers.begin(), integers.end());
      expected.Add(one);
    }
    return expected;
  }

  const SyntheticFleet stream_{{.clients = kClients, .steps = 30, .dimension = 3, .seed = 3}};
  const Attendance attendance_{5, 0.7};
  const std::unique_ptr<const Algorithm> algorithm_ = [] {
    AlgorithmOptions options;
    options.experts = Experts::kFederated;
    return MakeAlgorithm("pof-gram", options, {3, 30, 11, kClients, 1});
  }();
  const GramGrid grid_{algorithm_->definition().bank->kernels(),
                       algorithm_->definition().bank->features()};
  const std::unique_ptr<const Device> device_ = NewEmulatedDevice();
  const std::unique_ptr<Queue> queue_ = device_->NewQueue();
  KernelShape shape_ = ShapeOf(*algorithm_, true).kernels;
  const FleetSamples samples_{*device_, stream_, {0, kClients}, attendance_};
  GramClients clients_{*device_, *algorithm_, shape_, kClients};
  const ClientBuffers own_{*device_, kClients, shape_, kClients};
  const TileBuffers between_{*device_, kClients, shape_};
  Buffer<ExpEntry> table_;
  std::vector<float> frequencies_;
  std::vector<U8> present_;
  std::vector<std::uint32_t> learnt_;
  std::vector<std::uint32_t> begin_;
  FleetArguments a_ = {};
};

TEST_P(PastSums, AreThoseOfTheCpusClients) {
  LearnAll(GetParam());
  TurnSums sums(*device_, shape_, kClients);
  std::vector<U64> results(clients_.MostResults());
  Broadcast broadcast{.step = kStep, .model = std::vector<float>(4 * 362), .turn = {GetParam()}};
  clients_.Begin(broadcast, *queue_, results.data(), a_);
  sums.Begin(*queue_, a_);
  *a_.most_pending = kStep + 1;
  const auto program = device_->Compile(shape_);
  sums.Add(*queue_, *program, a_, clients_.turn());

  std::vector<U64> totals(kStepTotals);
  totals[kParticipants] = std::accumulate(present_.begin(), present_.end(), U64{0});
  GramInbox inbox(grid_, broadcast.turn);
  clients_.Collect(std::span(results).first(clients_.Results()), totals, inbox.Sums());
  const GramSum found = inbox.Take(GetParam());
  const GramSum expected = Expected(GetParam());
  EXPECT_GT(expected.messages, 10U);
  EXPECT_LT(expected.messages, kClients);
  EXPECT_EQ(found.messages, expected.messages);
  EXPECT_EQ(found.count, expected.count);
  EXPECT_EQ(found.new_unknowns, expected.new_unknowns);
  EXPECT_LT(found.new_unknowns, found.count.unknowns);
  EXPECT_EQ(found.squares, expected.squares);
  const std::span<const std::int64_t> all = found.sums;
  const auto weights = all.last(grid_.experts());
  const std::vector<std::int64_t> without(all.begin(), weights.begin());
  EXPECT_EQ(without, expected.sums);
  // One expert is awake in the next step, or the smaller ones of its kernel beside it.
  const std::size_t awake = GetParam() % grid_.sizes() + 1;
  const double each = static_cast<double>(found.messages) / static_cast<double>(awake);
  EXPECT_NEAR(GramGrid::kUnit * static_cast<double>(weights[GetParam()]), each, 1e-9);
  EXPECT_EQ(weights[(GetParam() + 5) % grid_.experts()], 0);
}

INSTANTIATE_TEST_SUITE_P(Experts, PastSums, testing::Values(0U, 6U, 12U, 18U, 4U));

}  // namespace
}  // namespace polykern::gpu
