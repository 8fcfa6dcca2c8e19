// Whole steps of the simulator on one thread; an item is a client-round.
#include <optional>
#include <string>

#include <benchmark/benchmark.h>

#include "bench/bench_setting.h"
#include "polykern/federation/client.h"
#include "polykern/sim/simulation.h"
#include "polykern/sim/workers.h"

namespace polykern {
namespace {

void SimulationStep(benchmark::State& state, const BenchSetting& setting) {
  const BenchJob job = MakeBenchJob(setting, 0);
  Workers one(1);
  std::optional<Clients> clients;
  std::optional<Simulation> simulation;
  for (auto _ : state) {
    if (!simulation || simulation->done()) {
      state.PauseTiming();
      simulation.reset();
      clients.emplace(*job.algorithm, 0, setting.clients);
      simulation.emplace(*job.algorithm, *job.stream, *clients, one, Simulation::Options{});
      state.ResumeTiming();
    }
    simulation->Step();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(setting.clients));
}

const bool kSimulationsRegistered = [] {
  for (const BenchSetting& setting : BenchSettings()) {
    if (setting.name == "uji") continue;  // needs its real rows: polykern bench
    const std::string name = "SimulationStep/" + setting.name;
    benchmark::RegisterBenchmark(name.c_str(), SimulationStep, setting)
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace
}  // namespace polykern
