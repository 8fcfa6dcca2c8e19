#include "bench/bench_growth.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <memory>

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/bench_race.h"
#include "polykern/algorithms/engine.h"
#include "polykern/core/error.h"
#include "polykern/data/synthetic.h"

namespace polykern {
namespace {

/// Bytes that are allocated now, to the byte: resident memory would hide what freed memory serves.
double AllocatedBytes() {
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

double ResidentBytes() {
  double size = 0;
  double resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double PeakResidentBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return 1024 * static_cast<double>(usage.ru_maxrss);
}

/// Few steps for many clients: what is held per step is not what is measured.
BenchJob MakeGrowthJob(const BenchSetting& setting, std::uint64_t seed) {
  const std::size_t steps = std::clamp<std::size_t>(100000 / setting.clients, 4, kBenchSteps);
  return MakeBenchJob(setting, seed, steps);
}

/// One run over the fleet, and a reader of the same samples.
struct FleetRun {
  FleetRun(std::size_t clients, std::size_t steps, Workers& threads, std::uint64_t seed)
      : fleet({.clients = clients, .steps = steps, .dimension = 14, .seed = seed}),
        job(MakeBenchJob({"fleet", 14, 51, 20, 25, clients},
                         std::shared_ptr<const Stream>(std::shared_ptr<void>(), &fleet), seed)),
        race(job, threads),
        workers(threads) {}

  double ReadMicroseconds() {
    std::vector<SampleBlock> blocks(workers.size());
    const Stopwatch watch;
    const std::size_t cohort = CpuEngine().cohort_size();
    workers.Run(CohortsOf(CpuEngine(), fleet.clients()), [&](std::size_t b, std::size_t worker) {
      const std::size_t first = b * cohort;
      fleet.Read(0, first, std::min(cohort, fleet.clients() - first), blocks[worker]);
    });
    return 1e6 * watch.Seconds() / static_cast<double>(fleet.clients());
  }

  SyntheticFleet fleet;
  BenchJob job;
  Race race;
  Workers& workers;
};

}  // namespace

const BenchSetting& GrowthBase() {
  static const BenchSetting base{"base", 14, 51, 20, 25, 1000};
  return base;
}

std::span<const GrowthPlan> GrowthPlans() {
  static const std::array<GrowthPlan, 4> plans = {{
      {"K", &BenchSetting::clients, {10, 100, 1000, 10000, 100000}},
      {"N", &BenchSetting::kernels, {25, 51, 102, 204, 408}},
      {"D", &BenchSetting::features, {5, 10, 20, 40, 80, 160}},
      {"d", &BenchSetting::dimension, {4, 14, 48, 160, 520}},
  }};
  return plans;
}

BenchJob MakeGrowthBase(std::uint64_t seed) {
  return MakeGrowthJob(GrowthBase(), seed);
}

GrowthPoint MeasureGrowth(const BenchJob& base_job, const GrowthPlan& plan, std::size_t value,
                          double seconds, std::uint64_t seed) {
  BenchSetting setting = base_job.setting;
  setting.*plan.field = value;
  const BenchJob job = MakeGrowthJob(setting, seed);
  Workers one(1);
  Race base(base_job, one);
  Race race(job, one);
  base.Slice(0);
  const double before = AllocatedBytes();
  race.Slice(0);
  GrowthPoint point;
  point.value = value;
  point.bytes = AllocatedBytes() - before;
  point.bytes_per_client = point.bytes / static_cast<double>(setting.clients);
  point.microseconds = point.base_microseconds = std::numeric_limits<double>::infinity();
  const int slices = BenchSlices(seconds);
  for (int i = 0; i < slices; ++i) {
    point.base_microseconds = std::min(point.base_microseconds, base.Slice(seconds / slices));
    point.microseconds = std::min(point.microseconds, race.Slice(seconds / slices));
  }
  return point;
}

FleetTimes MeasureFleet(std::size_t clients, std::size_t steps, std::size_t threads,
                        std::uint64_t seed) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  Workers workers(threads);
  FleetRun few(FleetTimes::kFewClients, kBenchSteps, workers, seed);
  few.race.Slice(0);
  const double before = ResidentBytes();
  FleetRun many(clients, steps, workers, seed);
  FleetTimes times{clients, steps, workers.size(), kNone, kNone, kNone, 0};
  for (std::size_t step = 0; step < steps; ++step) {
    const Stopwatch watch;
    times.microseconds = std::min(times.microseconds, many.race.Slice(0));
    times.few_microseconds =
        std::min(times.few_microseconds, few.race.Slice(std::min(watch.Seconds(), 1.0)));
    times.reading_microseconds = std::min(times.reading_microseconds, many.ReadMicroseconds());
  }
  times.bytes_per_client = (PeakResidentBytes() - before) / static_cast<double>(clients);
  return times;
}

}  // namespace polykern
