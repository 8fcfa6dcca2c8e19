// The parts of core/ that a step spends its time in, one at a time.
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/bench_setting.h"
#include "bench/machine_limits.h"
#include "polykern/core/exact_sum.h"
#include "polykern/core/experts.h"
#include "polykern/core/kernels.h"
#include "polykern/core/random.h"
#include "polykern/core/random_features.h"
#include "polykern/core/subset.h"

namespace polykern {
namespace {

constexpr std::size_t kKernels = 51;

std::vector<float> Normals(std::size_t count, double size) {
  Random random(1, Purpose::kTest);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(size * random.Normal());
  return values;
}

std::vector<double> Losses() {
  Random random(2, Purpose::kTest);
  std::vector<double> losses(kKernels);
  for (double& loss : losses) loss = 20 * random.Uniform();
  return losses;
}

void CountItems(benchmark::State& state, std::size_t items) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(items));
}

/// Features and predictions of `cohort` clients; an item is a client.
void EvaluateKernelsOf(benchmark::State& state, const BenchSetting& s, std::size_t cohort) {
  const PackedKernels bank(
      KernelBank(MakeDictionary("gaussian", s.kernels), s.dimension, s.features, 0));
  const auto x = Normals(cohort * s.dimension, 0.1);
  const auto theta = Normals(s.kernels * bank.feature_size(), 0.1);
  const std::size_t m = s.kernels_per_upload;
  std::vector<std::size_t> first(cohort + 1);
  std::vector<std::uint32_t> wanted(cohort * m);
  for (std::size_t c = 0; c < cohort; ++c) {
    first[c + 1] = (c + 1) * m;
    for (std::size_t i = 0; i < m; ++i) {
      wanted[c * m + i] = static_cast<std::uint32_t>((7 * c + i) % s.kernels);
    }
  }
  std::vector<float> f(cohort * s.kernels);
  std::vector<float> z(wanted.size() * bank.feature_size());
  FeatureScratch scratch;
  for (auto _ : state) {
    EvaluateKernels(bank, {cohort, x, theta, first, wanted, f, z}, scratch);
    benchmark::DoNotOptimize(f.data());
    benchmark::ClobberMemory();
  }
  CountItems(state, cohort);
}

/// An item is a flop.
void PeakMultiplyAdds(benchmark::State& state) {
  double flops = 0;
  for (auto _ : state) flops += RunMultiplyAdds();
  state.SetItemsProcessed(static_cast<std::int64_t>(flops));
}
BENCHMARK(PeakMultiplyAdds);

/// An item is a sine with its cosine.
void SinCos(benchmark::State& state) {
  double pairs = 0;
  for (auto _ : state) pairs += RunSinCos();
  state.SetItemsProcessed(static_cast<std::int64_t>(pairs));
}
BENCHMARK(SinCos);

void HedgeWeightsOf51(benchmark::State& state) {
  const auto losses = Losses();
  std::vector<double> weights(kKernels);
  for (auto _ : state) {
    HedgeWeights(losses, 0.05, weights);
    benchmark::DoNotOptimize(weights.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(HedgeWeightsOf51);

/// Argument: per cent of exploration; 100 needs no sort.
void ChooseBinOf25(benchmark::State& state) {
  const auto losses = Losses();
  std::vector<double> weights(kKernels);
  HedgeWeights(losses, 0.05, weights);
  std::vector<std::uint32_t> order(kKernels);
  std::vector<std::uint32_t> chosen(25);
  const double xi = 0.01 * static_cast<double>(state.range(0));
  Random random(3, Purpose::kTest);
  for (auto _ : state) {
    const Bin bin = ChooseBin(losses, weights, 25, xi, random.Uniform(), order, chosen);
    benchmark::DoNotOptimize(bin);
  }
}
BENCHMARK(ChooseBinOf25)->Arg(20)->Arg(100);

/// The messages of 64 clients, M = 25 and D = 20; an item is a number.
void ExactSumAdd(benchmark::State& state) {
  constexpr std::size_t kWidth = 40;
  constexpr std::size_t kRows = std::size_t{64} * 25;
  const auto rows = Normals(kRows * kWidth, 0.1);
  std::vector<std::uint32_t> which(kRows);
  for (std::size_t r = 0; r < kRows; ++r) which[r] = static_cast<std::uint32_t>(r % kKernels);
  ExactSum sum(kKernels * kWidth);
  for (auto _ : state) {
    sum.Add(rows, which);
    benchmark::ClobberMemory();
  }
  CountItems(state, rows.size());
}
BENCHMARK(ExactSumAdd);

/// Every setting, as a cohort of the simulator and as a single device.
const bool kRegistered = [] {
  for (const BenchSetting& setting : BenchSettings()) {
    for (const std::size_t cohort : {1, 64}) {
      const std::string name =
          "EvaluateKernels/" + setting.name + "/clients:" + std::to_string(cohort);
      benchmark::RegisterBenchmark(name.c_str(), EvaluateKernelsOf, setting, cohort);
    }
  }
  return true;
}();

}  // namespace
}  // namespace polykern
