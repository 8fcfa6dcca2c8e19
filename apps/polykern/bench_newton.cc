#include "bench_newton.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "bench_race.h"
#include "bench_setting.h"
#include "machine_limits.h"
#include "polykern/algorithms/registry.h"
#include "polykern/federation/client.h"
#include "polykern/federation/coordinator.h"
#include "polykern/sim/workers.h"

namespace polykern {
namespace {

/// The fewest operations that solve a kernel's regression exactly after n new samples: a rank-n
/// update and a Cholesky decomposition with two substitutions, or n Sherman-Morrison updates of the
/// inverse (a product with it and a symmetric rank-1 update each).
double FewestFlops(double samples, double width) {
  const double decomposed =
      samples * width * (width + 1) + width * width * width / 3 + 2 * width * width;
  const double updated = samples * (2 * width * width + width * (width + 1));
  return std::min(decomposed, updated);
}

/// One federation, step by step; the clients' messages are made once and given to the server.
class NewtonRace {
 public:
  NewtonRace(const Algorithm& algorithm, const Stream& stream, Workers& workers)
      : algorithm_(algorithm),
        stream_(stream),
        workers_(workers),
        clients_(algorithm, 0, stream.clients()),
        round_(algorithm),
        coordinator_(algorithm, stream.clients(), workers.size()) {}

  /// Both in microseconds.
  double clients_time = 0;
  double server_time = 0;
  std::vector<double> messages;  ///< per kernel

  void Step() {
    const std::size_t step = coordinator_.broadcast().step;
    updates_.clear();
    clients_time = 0;
    messages.assign(algorithm_.shape().blocks, 0);
    for (std::size_t first = 0; first < stream_.clients(); first += Simulation::kBlock) {
      const std::size_t count = std::min(Simulation::kBlock, stream_.clients() - first);
      stream_.Read(step % stream_.steps(), first, count, block_);
      const Stopwatch watch;
      round_.Predict(coordinator_.broadcast(), clients_, first, block_.x, block_.present);
      updates_.push_back(round_.Learn(block_.y));
      clients_time += 1e6 * watch.Seconds();
      for (const std::uint32_t kernel : updates_.back().blocks) messages[kernel] += 1;
    }
    const Stopwatch watch;
    workers_.Run(updates_.size(), [this](std::size_t i, std::size_t worker) {
      coordinator_.Receive(updates_[i], worker);
    });
    coordinator_.Commit([this](std::size_t count, const auto& job) { workers_.Run(count, job); });
    server_time = 1e6 * watch.Seconds();
  }

 private:
  const Algorithm& algorithm_;
  const Stream& stream_;
  Workers& workers_;
  Clients clients_;
  ClientRound round_;
  Coordinator coordinator_;
  SampleBlock block_;
  std::vector<Updates> updates_;
};

}  // namespace

NewtonTimes MeasureNewton(std::size_t threads, double seconds, std::uint64_t seed) {
  const BenchSetting setting = {"newton",
                                NewtonTimes::kDimension,
                                51,
                                NewtonTimes::kFeatures,
                                NewtonTimes::kKernelsPerUpload,
                                NewtonTimes::kClients};
  const BenchJob job = MakeBenchJob(setting, seed);
  AlgorithmOptions options;
  options.kernels_per_upload = setting.kernels_per_upload;
  options.features = setting.features;
  options.refresh = 0;  // every kernel that has new samples is solved
  const auto algorithm =
      MakeAlgorithm("pof-newton", options, {setting.dimension, kBenchSteps, seed});
  Workers one(1);
  Workers all(threads);
  NewtonRace alone(*algorithm, *job.stream, one);
  NewtonRace together(*algorithm, *job.stream, all);
  constexpr double kNone = std::numeric_limits<double>::infinity();
  NewtonTimes best{kNone, kNone, 0, kNone, 0, 0};
  double best_ratio = kNone;
  const Stopwatch watch;
  for (int step = 0; step < 20 || watch.Seconds() < 3 * seconds; ++step) {
    const double seconds_per_flop = SecondsPerUnit(0.001, RunDoubleMultiplyAdds);
    best.peak = std::max(best.peak, 1 / seconds_per_flop);
    alone.Step();
    together.Step();
    best.clients = std::min(best.clients, alone.clients_time);
    best.all_threads = std::min(best.all_threads, together.server_time);
    double flops = 0;
    double all_messages = 0;
    double kernels = 0;
    for (const double messages : alone.messages) {
      if (messages == 0) continue;
      flops += FewestFlops(messages, 2.0 * static_cast<double>(setting.features));
      all_messages += messages;
      kernels += 1;
    }
    const double floor = 1e6 * flops / best.peak;
    if (alone.server_time / floor >= best_ratio) continue;
    best_ratio = alone.server_time / floor;
    best.server = alone.server_time;
    best.floor = floor;
    best.messages_per_kernel = all_messages / kernels;
  }
  return best;
}

}  // namespace polykern
