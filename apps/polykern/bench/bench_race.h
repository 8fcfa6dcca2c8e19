#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "bench/bench_setting.h"
#include "polykern/core/random_features.h"
#include "polykern/data/stream.h"
#include "polykern/federation/client.h"
#include "polykern/sim/simulation.h"
#include "polykern/sim/workers.h"

namespace polykern {

/// Seconds since it was made.
class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Calls work, which returns how much it did, for about so long; returns seconds per unit.
template <class Work>
double SecondsPerUnit(double seconds, const Work& work) {
  const Stopwatch watch;
  double units = 0;
  do {
    units += work();
  } while (watch.Seconds() < seconds);
  return watch.Seconds() / units;
}

/// The same job simulated again and again. One thread at a time; the job and the workers must
/// outlive it.
class Race {
 public:
  Race(const BenchJob& job, Workers& workers) : job_(job), workers_(workers) {}

  /// Steps for about so long, whole client-rounds (predict, learn, upload, aggregate); starting
  /// over is not counted. Returns microseconds per sample.
  double Slice(double seconds);
  /// Samples taken so far.
  double samples() const { return samples_; }

 private:
  const BenchJob& job_;
  Workers& workers_;
  std::optional<Clients> clients_;
  std::optional<Simulation> simulation_;
  double samples_ = 0;
};

/// The part of it that the floor speaks of: features and per-kernel predictions (EvaluateKernels),
/// for the rows of the job, block after block. One thread at a time.
class FeatureRace {
 public:
  explicit FeatureRace(const BenchJob& job);

  /// Microseconds per sample; reading the rows is not counted.
  double Slice(double seconds);

 private:
  /// Seconds of the next step, all clients.
  double TimeStep();

  const BenchJob& job_;
  PackedKernels packed_;
  std::size_t step_ = 0;
  SampleBlock block_;
  FeatureScratch scratch_;
  std::vector<float> theta_;
  std::vector<std::size_t> first_;
  std::vector<std::uint32_t> wanted_;
  std::vector<float> f_;
  std::vector<float> z_;
};

/// Whole client-rounds on all threads: one simulation if it has work for all of them, else one
/// beside the other, as the program runs repetitions.
class ParallelRace {
 public:
  ParallelRace(const BenchJob& job, std::size_t threads);

  /// Wall time over samples, in microseconds.
  double Slice(double seconds);

 private:
  Workers workers_;
  std::vector<std::unique_ptr<Workers>> alone_;
  std::vector<std::unique_ptr<Race>> races_;
};

/// How many slices a measurement of so many seconds has: of 5 ms, at least 5. Many and short, so
/// that work of others on this machine leaves some of them alone, and the best one counts.
int BenchSlices(double seconds);

/// The best slice of each.
struct BenchTimes {
  double one_thread = 0;        ///< microseconds per sample
  double all_threads = 0;       ///< the same, wall time
  double features = 0;          ///< of one_thread, the part that the floor speaks of
  double seconds_per_flop = 0;  ///< RunMultiplyAdds, between the slices of the above
  double sincos_seconds = 0;    ///< RunSinCos, per pair

  /// N D ((2d + 4) / peak + t_sincos) in microseconds, for so many inputs d.
  double Floor(const BenchSetting& setting, double inputs) const;
};

/// What Floor counts: d multiply-adds of an angle and two of theta . z, for each feature.
double UsefulFlops(const BenchSetting& setting, double inputs);

/// Measures ours and the machine's limits in turn, `seconds` each.
BenchTimes TimeJob(const BenchJob& job, std::size_t threads, double seconds);

}  // namespace polykern
