#include "bench/bench_newton.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "bench/bench_race.h"
#include "bench/bench_setting.h"
#include "bench/machine_limits.h"
#include "polykern/algorithms/engine.h"
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

/// What a step's clients sent, and how long they took for it together, in microseconds.
struct Messages {
  std::vector<Updates> updates;
  double time = 0;
};

/// A server of its own lets the clients' choices settle, so that messages are as in a real run.
std::vector<Messages> MakeMessages(const Algorithm& algorithm, const Stream& stream,
                                   std::size_t steps) {
  Clients clients(algorithm, 0, stream.clients());
  const std::size_t cohort = CpuEngine().cohort_size();
  ClientRound round(algorithm);
  Coordinator coordinator(algorithm, stream.clients());
  SampleBlock block;
  std::vector<Messages> made(steps);
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::size_t first = 0; first < stream.clients(); first += cohort) {
      const std::size_t count = std::min(cohort, stream.clients() - first);
      stream.Read(step % stream.steps(), first, count, block);
      const Stopwatch watch;
      round.Predict(coordinator.broadcast(), clients, first, block.x, block.present);
      made[step].updates.push_back(round.Learn(block.y));
      made[step].time += 1e6 * watch.Seconds();
      coordinator.Receive(made[step].updates.back());
    }
    coordinator.Commit();
  }
  return made;
}

/// A server that gets such messages again and again; it has the caches for itself, as the machine
/// of a real server has no clients.
class NewtonServerRace {
 public:
  NewtonServerRace(const Algorithm& algorithm, std::size_t clients, Workers& workers)
      : workers_(workers), coordinator_(algorithm, clients, workers.size()) {}

  /// Microseconds.
  double Step(Messages& messages) {
    for (Updates& updates : messages.updates) updates.step = coordinator_.broadcast().step;
    const Stopwatch watch;
    workers_.Run(messages.updates.size(), [&](std::size_t i, std::size_t worker) {
      coordinator_.Receive(messages.updates[i], worker);
    });
    coordinator_.Commit([this](std::size_t count, const auto& job) { workers_.Run(count, job); });
    return 1e6 * watch.Seconds();
  }

 private:
  Workers& workers_;
  Coordinator coordinator_;
};

/// A step's floor in flops, and how many messages its kernels had.
struct NewtonFloor {
  NewtonFloor(const Messages& messages, const ModelShape& shape) {
    std::vector<double> sent(shape.blocks);
    for (const Updates& updates : messages.updates) {
      for (const std::uint32_t kernel : updates.blocks) sent[kernel] += 1;
    }
    double all = 0;
    double kernels = 0;
    for (const double count : sent) {
      if (count == 0) continue;
      flops += FewestFlops(count, static_cast<double>(shape.width));
      all += count;
      kernels += 1;
    }
    messages_per_kernel = all / kernels;
  }
  double flops = 0;
  double messages_per_kernel = 0;
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
  const Problem problem = {setting.dimension, kBenchSteps, seed};
  const auto usual = MakeAlgorithm("pof-newton", options, problem);
  options.refresh = 0;  // every kernel that has new samples is solved
  const auto algorithm = MakeAlgorithm("pof-newton", options, problem);
  std::vector<Messages> steps = MakeMessages(*algorithm, *job.stream, 20);
  constexpr double kNone = std::numeric_limits<double>::infinity();
  NewtonTimes best;
  best.clients = best.server = best.all_threads = best.usual = kNone;
  double mean_flops = 0;
  for (const Messages& messages : steps) {
    best.clients = std::min(best.clients, messages.time);
    mean_flops +=
        NewtonFloor(messages, algorithm->shape()).flops / static_cast<double>(steps.size());
  }
  Workers one(1);
  Workers all(threads);
  NewtonServerRace alone(*algorithm, setting.clients, one);
  NewtonServerRace together(*algorithm, setting.clients, all);
  double least = kNone;  // microseconds per flop
  double flops_of_best = 0;
  const Stopwatch watch;
  for (int turn = 0; turn < 2 || watch.Seconds() < 3 * seconds; ++turn) {
    for (Messages& messages : steps) {
      best.peak = std::max(best.peak, 1 / SecondsPerUnit(0.001, RunDoubleMultiplyAdds));
      const double time = alone.Step(messages);
      const NewtonFloor floor(messages, algorithm->shape());
      if (time / floor.flops >= least) continue;
      least = time / floor.flops;
      best.server = time;
      flops_of_best = floor.flops;
      best.messages_per_kernel = floor.messages_per_kernel;
    }
    for (Messages& messages : steps) {
      best.all_threads = std::min(best.all_threads, together.Step(messages));
    }
    NewtonServerRace lazy(*usual, setting.clients, one);
    double sum = 0;
    for (std::size_t step = 0; step < NewtonTimes::kSteps; ++step) {
      sum += lazy.Step(steps[step % steps.size()]);
    }
    best.usual = std::min(best.usual, sum / NewtonTimes::kSteps);
  }
  best.floor = 1e6 * flops_of_best / best.peak;
  best.mean_floor = 1e6 * mean_flops / best.peak;
  return best;
}

}  // namespace polykern
