#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "polykern/core/error.h"
#include "polykern/data/stream.h"
#include "polykern/data/synthetic.h"
#include "polykern/gpu/emulated_device.h"
#include "polykern/gpu/gpu_fleet.h"
#include "polykern/io/folder_testing.h"
#include "polykern/results/result.h"
#include "polykern/sim/experiment.h"
#include "polykern/sim/ranks/thread_ranks_testing.h"

// Whole experiments on the emulated GPU beside those on the CPU, and what happens when a GPU is too
// small or fails.

namespace polykern::gpu {
namespace {

using testing::HasSubstr;

constexpr std::size_t kPlenty = std::size_t{1} << 40;
constexpr int kForEver = 1 << 30;

/// The emulated GPU with less memory, one that fails after so many kernels, or one whose memory
/// others take after so many pieces of it.
class PoorDevice final : public Device {
 public:
  PoorDevice(std::size_t memory, int launches, int pieces = kForEver)
      : memory_(memory), launches_(launches), pieces_(pieces) {}

  std::string name() const override { return "poor GPU"; }
  std::string id() const override { return "poor"; }
  U32 threads() const override { return real_->threads(); }
  U64 processors() const override { return real_->processors(); }
  U64 tile() const override { return real_->tile(); }
  std::size_t free_memory() const override { return memory_; }
  void* Allocate(std::size_t bytes) const override {
    if (--pieces_ < 0) throw NoRoom("there is none");
    return real_->Allocate(bytes);
  }
  void Free(void* memory) const override { real_->Free(memory); }
  std::unique_ptr<Queue> NewQueue() const override {
    return std::make_unique<PoorQueue>(real_->NewQueue(), launches_);
  }
  std::shared_ptr<const Program> Compile(const KernelShape& shape) const override {
    return real_->Compile(shape);
  }

 private:
  class PoorQueue final : public Queue {
   public:
    PoorQueue(std::unique_ptr<Queue> real, std::atomic<int>& launches)
        : real_(std::move(real)), launches_(launches) {}
    void Write(void* to, const void* from, std::size_t bytes) override {
      real_->Write(to, from, bytes);
    }
    void Read(void* to, const void* from, std::size_t bytes) override {
      real_->Read(to, from, bytes);
    }
    void Zero(void* to, std::size_t bytes) override { real_->Zero(to, bytes); }
    void After(const Queue& other) override {
      real_->After(*static_cast<const PoorQueue&>(other).real_);
    }
    void Launch(const Program& program, const char* kernel, const Grid& grid,
                const FleetArguments& arguments) override {
      if (--launches_ < 0) throw DeviceFailure("the GPU has fallen off the bus");
      real_->Launch(program, kernel, grid, arguments);
    }

   private:
    std::unique_ptr<Queue> real_;
    std::atomic<int>& launches_;
  };

  const std::unique_ptr<const Device> real_ = NewEmulatedDevice();
  std::size_t memory_;
  mutable std::atomic<int> launches_;
  mutable std::atomic<int> pieces_;
};

std::vector<Row> GpuRows() {
  std::vector<Row> rows;
  for (const char* name : {"pof-mkl", "ofmkl-avg", "vm-kofl"}) {
    Row row;
    row.algorithm = name;
    row.options.kernels = 9;
    row.options.features = 5;
    if (row.algorithm == "pof-mkl") row.options.kernels_per_upload = 2;
    rows.push_back(row);
  }
  Row gram;
  gram.algorithm = "pof-gram";
  gram.options.experts = Experts::kFederated;
  gram.options.budget = 100;
  rows.push_back(gram);
  return rows;
}

/// result.json without timings.
std::string ResultsOf(std::size_t ranks, const FleetDevice* device,
                      const ExperimentOptions& options, std::vector<Row> rows = GpuRows()) {
  const SyntheticFleet stream({.clients = 110, .steps = 8, .dimension = 4, .drift = 1});
  std::string text;
  const auto run = [&](Communicator* rank) {
    Progress progress;
    auto results =
        RunExperiment(stream, rows, options, progress, {.ranks = rank, .device = device});
    EXPECT_EQ(progress.steps_done, progress.steps_total);
    if (rank != nullptr && rank->rank() != 0) return;
    for (RowResult& result : results) {
      result.seconds = 0;
      result.rank_bytes = 0;
    }
    Source source;
    source.stream = std::make_unique<SyntheticFleet>(stream.options());
    text = ResultJson(source, {}, options, results, "");
  };
  if (ranks == 1) {
    run(nullptr);
  } else {
    RunRanks(ranks, [&](Communicator& rank) { run(&rank); });
  }
  return text;
}

class GpuExperiment : public testing::Test {
 protected:
  const std::unique_ptr<FleetDevice> device_ = NewFleetDevice(NewEmulatedDevice());
};

TEST_F(GpuExperiment, GivesTheSameResultFile) {
  for (const std::size_t threads : {1U, 3U}) {
    const ExperimentOptions options{
        .repetitions = 2, .seed = 5, .participation = 0.7, .threads = threads};
    EXPECT_EQ(ResultsOf(1, device_.get(), options), ResultsOf(1, nullptr, options));
  }
}

TEST_F(GpuExperiment, GivesTheSameResultFileWithCarriedWeights) {
  const ExperimentOptions options{.repetitions = 3, .carry_weights = true, .threads = 1};
  EXPECT_EQ(ResultsOf(1, device_.get(), options), ResultsOf(1, nullptr, options));
}

TEST_F(GpuExperiment, GivesTheSameResultFileOnSeveralRanks) {
  const ExperimentOptions options{.repetitions = 1, .rank_groups = 1, .threads = 1};
  const std::string alone = ResultsOf(1, nullptr, options);
  EXPECT_EQ(ResultsOf(3, device_.get(), options), alone);
}

TEST_F(GpuExperiment, NamesTheAlgorithmThatHasNoGpuForm) {
  std::vector<Row> rows = GpuRows();
  rows[1].algorithm = "local";
  const std::string message =
      MessageOf([&] { ResultsOf(1, device_.get(), {.repetitions = 1, .threads = 1}, rows); });
  EXPECT_THAT(message, HasSubstr("local does not run on a GPU yet"));
}

TEST_F(GpuExperiment, RefusesIntervals) {
  const ExperimentOptions options{.repetitions = 1, .coverage = 0.9, .threads = 1};
  EXPECT_THAT(MessageOf([&] { ResultsOf(1, device_.get(), options); }),
              HasSubstr("prediction intervals are not made on a GPU yet"));
}

TEST(SmallGpu, SaysHowManyClientsWouldFit) {
  const auto device = NewFleetDevice(std::make_unique<PoorDevice>((64U << 20) + 30000, kForEver));
  const std::string message =
      MessageOf([&] { ResultsOf(1, device.get(), {.repetitions = 1, .threads = 1}); });
  EXPECT_THAT(message, HasSubstr("110 clients need"));
  EXPECT_THAT(message, testing::ContainsRegex("at most [1-9][0-9]? clients fit; lower clients"));
}

TEST(SmallGpu, SaysSoWhenItsMemoryIsGoneLate) {
  const SyntheticFleet stream({.clients = 110, .steps = 8, .dimension = 4});
  std::vector<Row> rows = GpuRows();
  int found = 0;
  for (int pieces = 0; pieces < 60; ++pieces) {
    const auto device = NewFleetDevice(std::make_unique<PoorDevice>(kPlenty, kForEver, pieces));
    Progress progress;
    const ExperimentOptions options{.repetitions = 1, .threads = 1};
    try {
      RunExperiment(stream, {rows[pieces % 2 == 0 ? 0 : 3]}, options, progress,
                    {.device = device.get()});
    } catch (const NoRoom&) {
      EXPECT_LT(pieces, 8);  // the fleet's laws, and what measures its labels
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("110 clients need"));
      EXPECT_THAT(error.what(), HasSubstr("at most 109 clients fit; lower clients"));
      ++found;
    }
  }
  EXPECT_GT(found, 30);
}

TEST(SmallGpu, SaysHowManyClientsSamplesWouldFit) {
  constexpr std::size_t kSteps = 10;
  constexpr std::size_t kClients = 20;
  const std::vector<float> x(kSteps * kClients * 4, 0.5F);
  const std::vector<double> y(kSteps * kClients, 0.5);
  const ArrayView inputs{reinterpret_cast<const std::byte*>(x.data()),
                         false,
                         {kClients * 4 * sizeof(float), 4 * sizeof(float), sizeof(float)}};
  const ArrayView labels{reinterpret_cast<const std::byte*>(y.data()),
                         true,
                         {kClients * sizeof(double), sizeof(double), sizeof(double)}};
  const ArrayStream stream({kSteps, kClients, 4}, inputs, labels);
  const auto device = NewFleetDevice(std::make_unique<PoorDevice>(7 * kSteps * 25, kForEver));
  EXPECT_EQ(MessageOf([&] {
              device->Load(stream, {0, kClients}, {});
            }),
            "the samples of 20 clients need 0 MiB on the GPU, which has 0 left: those of at most 7 "
            "clients fit; lower clients or steps, or choose device=cpu");
}

/// What a rank says of its GPU in the end.
std::string LossOf(const Stream& stream, const FleetDevice& device, Communicator* rank) {
  Progress progress;
  const ExperimentOptions options{.repetitions = 1, .rank_groups = 1, .threads = 1};
  try {
    RunExperiment(stream, {GpuRows()[0]}, options, progress, {.ranks = rank, .device = &device});
  } catch (const DeviceFailure& failure) {
    return failure.what();
  }
  return "it was not lost";
}

TEST(LostGpu, OfOneRankEndsAllOfThemAlike) {
  const SyntheticFleet stream({.clients = 50, .steps = 8, .dimension = 4});
  std::vector<std::string> said(3);
  RunRanks(3, [&](Communicator& rank) {
    const int launches = rank.rank() == 1 ? 3 : kForEver;  // in its first step
    const auto device = NewFleetDevice(std::make_unique<PoorDevice>(kPlenty, launches));
    said[rank.rank()] = LossOf(stream, *device, &rank);
  });
  EXPECT_THAT(said, testing::Each(testing::StartsWith("the GPU has fallen off the bus; ")));
}

TEST(LostGpu, KeepsNothingWithoutAFolder) {
  const SyntheticFleet stream({.clients = 50, .steps = 8, .dimension = 4});
  const auto device = NewFleetDevice(std::make_unique<PoorDevice>(kPlenty, 6));
  EXPECT_EQ(LossOf(stream, *device, nullptr),
            "the GPU has fallen off the bus; nothing is kept, as there is no folder for results");
}

TEST(LostGpu, EndsTheExperimentAndKeepsWhatWasFinished) {
  const TestFolder folder;
  const RunStore store(folder.At("partial"));
  const SyntheticFleet stream({.clients = 50, .steps = 8, .dimension = 4});
  const std::vector<Row> rows = {GpuRows()[0]};
  const ExperimentOptions options{.repetitions = 4, .threads = 1};
  const auto run = [&](const FleetDevice* device, Progress& progress) {
    return RunExperiment(stream, rows, options, progress,
                         {.store = &store, .data = "fleet", .device = device});
  };
  Progress first;
  const auto lost = NewFleetDevice(std::make_unique<PoorDevice>(kPlenty, 250));
  try {
    run(lost.get(), first);
    FAIL();
  } catch (const DeviceFailure& failure) {
    EXPECT_STREQ(
        failure.what(),
        "the GPU has fallen off the bus; finished repetitions are kept; start again to resume");
  }
  Progress second;  // the CPU continues where the GPU was lost
  const auto results = run(nullptr, second);
  EXPECT_GT(second.kept, 0U);
  EXPECT_LT(second.kept, 4U);
  Progress third;
  const auto anew = RunExperiment(stream, rows, options, third, {});
  EXPECT_EQ(results[0].fingerprint, anew[0].fingerprint);
}

TEST(Floors, AreMeasured) {
  const DeviceFloors floors = MeasureFloors(*NewEmulatedDevice(), 16);
  EXPECT_GT(floors.multiply_adds, 1e5);
  EXPECT_GT(floors.sine, 1e-13);
  EXPECT_LT(floors.sine, 1e-3);
}

}  // namespace
}  // namespace polykern::gpu
