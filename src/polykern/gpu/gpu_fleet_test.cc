#include "polykern/gpu/gpu_fleet.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "polykern/algorithms/gram/gram_grid.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/kernels.h"
#include "polykern/core/random.h"
#include "polykern/data/stream.h"
#include "polykern/data/synthetic.h"
#include "polykern/gpu/emulated_device.h"
#include "polykern/io/folder_testing.h"
#include "polykern/sim/ranks/communicator.h"
#include "polykern/sim/simulation.h"
#include "polykern/sim/workers.h"

// The kernels, thread by thread on the CPU, beside the vector code: whole simulations, bit for bit.

namespace polykern::gpu {
namespace {

/// Samples of a program, some of them missing.
class Table {
 public:
  Table(std::size_t steps, std::size_t clients, std::size_t dimension, double missing = 0.2,
        double size = 1, std::size_t nonzero = 1)
      : x_(steps * clients * dimension), y_(steps * clients), present_(steps * clients) {
    Random random(7, Purpose::kTest);
    for (float& value : x_) value = static_cast<float>(size * (random.Uniform() - 0.5));
    for (std::size_t i = 0; i < x_.size(); ++i) {  // of so many inputs one is not 0
      if (i % nonzero != 0) x_[i] = 0;
    }
    for (double& value : y_) value = random.Uniform();
    for (std::uint8_t& value : present_) value = random.Uniform() < missing ? 0 : 1;
    const auto bytes = [](std::size_t count, std::size_t each) {
      return static_cast<std::ptrdiff_t>(count * each);
    };
    const ArrayView x{reinterpret_cast<const std::byte*>(x_.data()),
                      false,
                      {bytes(clients * dimension, 4), bytes(dimension, 4), 4}};
    const ArrayView y{
        reinterpret_cast<const std::byte*>(y_.data()), true, {bytes(clients, 8), 8, 8}};
    stream_ = std::make_unique<ArrayStream>(ArrayShape{steps, clients, dimension}, x, y, present_);
  }
  const Stream& stream() const { return *stream_; }

 private:
  std::vector<float> x_;
  std::vector<double> y_;
  std::vector<std::uint8_t> present_;
  std::unique_ptr<ArrayStream> stream_;
};

struct Case {
  std::string algorithm = "pof-mkl";
  AlgorithmOptions options = {};
  double participation = 1;
  std::size_t clients = 230;  // three tiles, the last one not full
  std::size_t dimension = 5;
  bool carries = true;  // states, into the run and out of it
};

std::unique_ptr<Algorithm> Make(const Case& given, const Stream& stream) {
  return MakeAlgorithm(given.algorithm, given.options,
                       {stream.dimension(), stream.steps(), 11, stream.clients(), 1});
}

/// A run on the emulated GPU, or without one.
struct Finished {
  Finished(const Case& given, const Stream& stream, bool on_device, std::vector<double> start = {},
           std::vector<double> uniforms = {})
      : algorithm(Make(given, stream)), clients(*algorithm, 0, stream.clients()) {
    if (!start.empty()) clients.Load(start);
    clients.ForgetFeatures();
    Simulation::Options options;
    options.seed = 3;
    options.participation = given.participation;
    options.carries_states = given.carries;
    options.keep_predictions = true;
    options.uniforms = uniforms;
    const auto device = NewFleetDevice(NewEmulatedDevice());
    std::unique_ptr<FleetData> data;
    if (on_device) {
      data = device->Load(stream, {0, stream.clients()}, {3, given.participation});
      options.device = data.get();
    }
    Workers workers(1);
    Simulation simulation(*algorithm, stream, clients, workers, options);
    const WeightPlan plan(stream);
    result = simulation.Run({.weights = plan});
    model = simulation.broadcast().model;
    if (given.carries) states = clients.Save();
  }

  std::unique_ptr<Algorithm> algorithm;
  Clients clients;
  Repetition result;
  std::vector<float> model;
  std::vector<double> states;
};

/// The same, and numbers where the other has numbers.
void ExpectSameNumbers(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    ASSERT_EQ(a[i], b[i]) << i;
  }
}

void ExpectSame(const Finished& cpu, const Finished& gpu) {
  EXPECT_EQ(gpu.result.divergence.has_value(), cpu.result.divergence.has_value());
  ExpectSameNumbers(gpu.result.predictions, cpu.result.predictions);
  EXPECT_EQ(gpu.model, cpu.model);
  EXPECT_EQ(gpu.result.fingerprint, cpu.result.fingerprint);
  ExpectSameNumbers(gpu.result.step_mse, cpu.result.step_mse);
  ExpectSameNumbers(gpu.result.step_regret, cpu.result.step_regret);
  EXPECT_EQ(gpu.result.regret, cpu.result.regret);
  EXPECT_EQ(gpu.result.mse, cpu.result.mse);
  EXPECT_EQ(gpu.result.over_bound, cpu.result.over_bound);
  EXPECT_EQ(gpu.result.unit_losses, cpu.result.unit_losses);
  EXPECT_EQ(gpu.result.client_mse, cpu.result.client_mse);
  EXPECT_EQ(gpu.result.weights.trace, cpu.result.weights.trace);
  EXPECT_EQ(gpu.result.weights.last, cpu.result.weights.last);
  EXPECT_EQ(gpu.states, cpu.states);
  EXPECT_EQ(gpu.result.traffic.messages, cpu.result.traffic.messages);
  EXPECT_EQ(gpu.result.traffic.up_numbers, cpu.result.traffic.up_numbers);
  EXPECT_EQ(gpu.result.traffic.up_bytes, cpu.result.traffic.up_bytes);
  EXPECT_EQ(gpu.result.traffic.down_bytes, cpu.result.traffic.down_bytes);
  EXPECT_EQ(gpu.result.traffic.largest_up, cpu.result.traffic.largest_up);
}

AlgorithmOptions Small(std::size_t kernels, std::size_t features,
                       std::optional<std::size_t> per_upload = {}) {
  AlgorithmOptions options;
  options.kernels = kernels;
  options.features = features;
  options.kernels_per_upload = per_upload;
  return options;
}

/// pof-gram without private experts.
AlgorithmOptions Gram(std::size_t budget) {
  AlgorithmOptions options;
  options.experts = Experts::kFederated;
  options.budget = budget;
  return options;
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  cases.push_back({"pof-mkl", Small(51, 9, 51)});
  cases.push_back({"pof-mkl", Small(51, 20, 25), 0.6});
  cases.push_back({"pof-mkl", Small(11, 70, 1), 1, 130, 2});  // more features than threads
  Case weighted{"pof-mkl", Small(13, 6, 4)};
  weighted.options.exploration = 0.3;
  weighted.options.regularization = 0.01;
  weighted.options.weight_rate = 2;
  cases.push_back(weighted);
  Case anytime{"pof-mkl", Small(7, 3, 2), 0.8, 40, 48};
  anytime.options.schedule = Schedule::kAnytime;
  anytime.options.loss = LossKind::kHuber;
  cases.push_back(anytime);
  Case shared{"pof-mkl", Small(9, 8, 3)};
  shared.options.shared_draws = true;
  cases.push_back(shared);
  cases.push_back({"pof-adagrad", Small(51, 9, 5)});
  Case hedged{"pof-adagrad", Small(10, 6, 3), 0.7};
  hedged.options.exploration = 0.4;
  hedged.options.regularization = 0.01;
  cases.push_back(hedged);
  cases.push_back({"ofmkl-avg", Small(9, 5)});
  cases.push_back({"vm-kofl", Small(20, 5), 0.7});
  cases.push_back({"ofskl", Small(1, 30), 1, 1, 8});
  cases.push_back({"pof-gram", Gram(30)});
  cases.push_back({"pof-gram", Gram(60), 0.6, 130, 3});
  Case fixed{"pof-gram", Gram(30), 0.9, 60, 18};
  fixed.options.weighting = Weighting::kHedge;
  fixed.options.forgetting = 0.9;
  fixed.options.most_samples = 2;
  cases.push_back(fixed);
  return cases;
}

class Fleets : public testing::TestWithParam<std::size_t> {
 protected:
  const Case given_ = Cases()[GetParam()];
};

TEST_P(Fleets, OfTheSyntheticKindHaveTheCpusBits) {
  const SyntheticFleet stream({.clients = given_.clients,
                               .steps = 12,
                               .sites = 3,
                               .dimension = given_.dimension,
                               .drift = 1.5,
                               .seed = 5});
  Case alone = given_;
  alone.carries = false;
  ExpectSame(Finished(alone, stream, false), Finished(alone, stream, true));
}

TEST_P(Fleets, OfTablesWithGapsHaveTheCpusBits) {
  const Table table(10, given_.clients, given_.dimension);
  ExpectSame(Finished(given_, table.stream(), false), Finished(given_, table.stream(), true));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Fleets, testing::Range(std::size_t{0}, Cases().size()));

/// Sizes of pof-gram's experts that had a turn in the end.
std::vector<std::size_t> AwakeIn(const Finished& run) {
  const GramGrid grid(run.algorithm->definition().bank->kernels(),
                      run.algorithm->definition().bank->features());
  std::vector<std::size_t> awake;
  for (std::size_t e = 0; e < grid.experts(); ++e) {
    const auto theta = std::span(run.model).subspan(grid.ThetaStart(e), grid.WidthOf(e));
    if (std::ranges::any_of(theta, [](float value) { return value != 0; })) {
      awake.push_back(grid.SizeOf(e));
    }
  }
  return awake;
}

/// Long enough for the largest sums, and for several of each kernel.
struct GramRun {
  std::size_t budget;
  double disclosure;
  std::size_t largest;  // D of the experts that are reached
  std::size_t steps;
  double participation;
  std::size_t clients;
  std::size_t dimension;
  std::size_t most_samples;
  std::size_t pending_memory;
};
class GramFleet : public testing::TestWithParam<GramRun> {
 protected:
  GramFleet() {
    given_.options = Gram(GetParam().budget);
    given_.options.disclosure = GetParam().disclosure;
    given_.options.most_samples = GetParam().most_samples;
    given_.options.pending_memory = GetParam().pending_memory;
  }
  Case given_{"pof-gram", {}, GetParam().participation, GetParam().clients, GetParam().dimension};
};

TEST_P(GramFleet, MakesPastSamplesAgain) {
  const SyntheticFleet stream({.clients = given_.clients,
                               .steps = GetParam().steps,
                               .sites = 3,
                               .dimension = given_.dimension,
                               .drift = 1.5,
                               .seed = 5});
  const Finished gpu(given_, stream, true);
  ExpectSame(Finished(given_, stream, false), gpu);
  EXPECT_THAT(AwakeIn(gpu), testing::SizeIs(testing::Gt(3U)));
  EXPECT_THAT(AwakeIn(gpu), testing::Contains(GetParam().largest));
}

TEST_P(GramFleet, ReadsPastSamplesAgain) {
  const Table sparse(GetParam().steps, given_.clients, given_.dimension, 0.3, 1, 3);
  const Finished gpu(given_, sparse.stream(), true);
  ExpectSame(Finished(given_, sparse.stream(), false), gpu);
  EXPECT_THAT(AwakeIn(gpu), testing::SizeIs(testing::Gt(3U)));
  EXPECT_THAT(AwakeIn(gpu), testing::Contains(GetParam().largest));
}

INSTANTIATE_TEST_SUITE_P(Runs, GramFleet,
                         testing::Values(GramRun{1000, 20, 100, 46, 1, 20, 5, 512, 2048},
                                         GramRun{150, 0.5, 21, 60, 0.7, 110, 3, 512, 2048},
                                         GramRun{100, 0.5, 10, 60, 0.5, 40, 18, 3, 1}));

TEST(Fleet, AddsUpNoMoreSamplesThanSumsHold) {
  Case given{"pof-gram", Gram(30), 1, 8192, 3};
  given.options.most_samples = 65536;
  const SyntheticFleet stream({.clients = 8192, .steps = 2, .dimension = 3});
  EXPECT_THAT(MessageOf([&] { Finished(given, stream, true); }),
              testing::HasSubstr("8192 clients are too many: at most 8191"));
}

/// Some clients of 2^25, whose numbers must be below 256; fingerprint, model and failure.
std::string SomeOfMany(const std::string& name, double rate, bool on_device) {
  constexpr std::size_t kHere = 200;
  const SyntheticFleet stream({.clients = std::size_t{1} << 25, .steps = 3, .dimension = 3});
  AlgorithmOptions some = Small(7, 4, 1);
  if (name != "pof-mkl") some.kernels_per_upload.reset();
  some.learning_rate = rate;
  const auto algorithm = Make({name, some}, stream);
  Clients clients(*algorithm, 0, kHere);
  const auto device = NewFleetDevice(NewEmulatedDevice());
  const auto data = device->Load(stream, {0, kHere}, {});
  const auto alone = RunAlone();  // the others are elsewhere
  Simulation::Options options;
  options.ranks = alone.get();
  if (on_device) options.device = data.get();
  Workers workers(1);
  Simulation simulation(*algorithm, stream, clients, workers, options);
  return MessageOf([&] {
    while (!simulation.done()) simulation.Step();
    throw Error("done: " + std::to_string(simulation.Fingerprint()));
  });
}

TEST(Fleet, OfVeryManyClientsHasTheCpusLimit) {
  for (const std::string name : {"pof-mkl", "vm-kofl"}) {
    const std::string good = SomeOfMany(name, 0.5, true);
    EXPECT_THAT(good, testing::StartsWith("done: "));
    EXPECT_EQ(SomeOfMany(name, 0.5, false), good);
    const std::string bad = SomeOfMany(name, 500, true);
    EXPECT_THAT(bad, testing::EndsWith(
                         "step 0 was rejected: it holds numbers that are not finite or above 255 "
                         "in size"));
    EXPECT_EQ(SomeOfMany(name, 500, false), bad);
  }
}

TEST(Fleet, GoesOnFromCarriedStates) {
  std::vector<Case> cases;
  for (const char* name : {"pof-mkl", "pof-adagrad"}) {
    cases.push_back({name, Small(12, 6, 5), 0.9, 100, 3});
  }
  cases.push_back({"pof-gram", Gram(60), 0.9, 100, 3});
  for (const Case& given : cases) {
    const SyntheticFleet stream({.clients = 100, .steps = 6, .dimension = 3});
    const Finished first(given, stream, true);
    ExpectSame(Finished(given, stream, false, first.states),
               Finished(given, stream, true, first.states));
  }
}

TEST(Fleet, UsesTheGivenUniforms) {
  const Case given{"pof-mkl", Small(12, 6, 5), 1, 100, 3};
  const SyntheticFleet stream({.clients = 100, .steps = 6, .dimension = 3});
  std::vector<double> uniforms;
  for (std::size_t i = 0; i < 600; ++i) uniforms.push_back(static_cast<double>(i % 7) / 7);
  const Finished gpu(given, stream, true, {}, uniforms);
  ExpectSame(Finished(given, stream, false, {}, uniforms), gpu);
  EXPECT_NE(Finished(given, stream, true).result.fingerprint, gpu.result.fingerprint);
}

TEST(Fleet, DivergesAtTheSameStep) {
  Case given{"pof-mkl", Small(12, 6, 1), 1, 20, 3};
  given.options.learning_rate = 40;
  const SyntheticFleet stream({.clients = 20, .steps = 60, .dimension = 3});
  const Finished cpu(given, stream, false);
  const Finished gpu(given, stream, true);
  ASSERT_TRUE(cpu.result.divergence);
  ASSERT_TRUE(gpu.result.divergence);
  EXPECT_EQ(gpu.result.divergence->step, cpu.result.divergence->step);
  ExpectSameNumbers(gpu.result.step_mse, cpu.result.step_mse);
}

TEST(Fleet, RefusesAnglesThatTheCpuAsksTheCLibraryFor) {
  const Table near(4, 20, 3, 0, 1000);  // above the bound that is quickly judged, but no angle is
  const Table far(4, 20, 3, 0, 1e7);
  for (const Case& given :
       {Case{"pof-mkl", Small(12, 6, 1), 1, 20, 3}, Case{"pof-gram", Gram(30), 1, 20, 3}}) {
    ExpectSame(Finished(given, near.stream(), false), Finished(given, near.stream(), true));
    EXPECT_THROW(Finished(given, far.stream(), true), DeviceFailure);
  }
}

TEST(Fleet, RefusesWhatHasNoGpuForm) {
  const SyntheticFleet stream({.clients = 20, .steps = 6, .dimension = 3});
  Case logistic{"pof-mkl", Small(12, 6, 1)};
  logistic.options.loss = LossKind::kLogistic;
  EXPECT_THROW(Finished(logistic, stream, true), Error);
  EXPECT_THROW(Finished({"local", Small(12, 6)}, stream, true), Error);
  EXPECT_THROW(Finished({"pof-gram", {}}, stream, true), Error);
}

}  // namespace
}  // namespace polykern::gpu
