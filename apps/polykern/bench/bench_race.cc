#include "bench/bench_race.h"

#include <algorithm>
#include <limits>

#include "bench/machine_limits.h"
#include "polykern/algorithms/engine.h"

namespace polykern {

double Race::Slice(double seconds) {
  double spent = 0;
  double samples = 0;
  do {
    if (!simulation_ || simulation_->done()) {
      simulation_.reset();
      clients_.emplace(*job_.algorithm, 0, job_.stream->clients());
      simulation_.emplace(*job_.algorithm, *job_.stream, *clients_, workers_,
                          Simulation::Options{});
    }
    const Stopwatch watch;
    simulation_->Step();
    spent += watch.Seconds();
    samples += static_cast<double>(job_.stream->clients());
  } while (spent < seconds);
  samples_ += samples;
  return 1e6 * spent / samples;
}

FeatureRace::FeatureRace(const BenchJob& job)
    : job_(job), packed_(*job.bank), theta_(job.bank->kernels() * job.bank->feature_size(), 0.01F) {
  // As xi = 1 chooses: neighbouring kernels, another bin from client to client.
  const std::size_t per_upload = job.setting.kernels_per_upload;
  const std::size_t bins = (job.bank->kernels() + per_upload - 1) / per_upload;
  first_.push_back(0);
  const std::size_t cohort = CpuEngine().cohort_size();
  for (std::size_t k = 0; k < cohort; ++k) {
    const std::size_t start = k % bins * per_upload;
    for (std::size_t i = start; i < std::min(start + per_upload, job.bank->kernels()); ++i) {
      wanted_.push_back(static_cast<std::uint32_t>(i));
    }
    first_.push_back(wanted_.size());
  }
  f_.resize(cohort * job.bank->kernels());
  z_.resize(wanted_.size() * job.bank->feature_size());
}

double FeatureRace::TimeStep() {
  const std::size_t cohort = CpuEngine().cohort_size();
  double spent = 0;
  for (std::size_t k = 0; k < job_.stream->clients(); k += cohort) {
    const std::size_t count = std::min(cohort, job_.stream->clients() - k);
    job_.stream->Read(step_, k, count, block_);
    const auto first = std::span(first_).first(count + 1);
    const auto wanted = std::span(wanted_).first(first.back());
    const Stopwatch watch;
    EvaluateKernels(
        packed_,
        {count, block_.x, theta_, first, wanted, std::span(f_).first(count * job_.bank->kernels()),
         std::span(z_).first(wanted.size() * job_.bank->feature_size())},
        scratch_);
    spent += watch.Seconds();
  }
  step_ = (step_ + 1) % job_.stream->steps();
  return spent;
}

double FeatureRace::Slice(double seconds) {
  // The algorithm has frequencies of its own, which the slices in between have used: these here
  // come back to the caches before the clock runs, as those have in a whole run.
  TimeStep();
  double spent = 0;
  double samples = 0;
  do {
    spent += TimeStep();
    samples += static_cast<double>(job_.stream->clients());
  } while (spent < seconds);
  return 1e6 * spent / samples;
}

ParallelRace::ParallelRace(const BenchJob& job, std::size_t threads) : workers_(threads) {
  if (CohortsOf(CpuEngine(), job.stream->clients()) >= workers_.size()) {
    races_.push_back(std::make_unique<Race>(job, workers_));
    return;
  }
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    alone_.push_back(std::make_unique<Workers>(1));
    races_.push_back(std::make_unique<Race>(job, *alone_.back()));
  }
}

double ParallelRace::Slice(double seconds) {
  if (races_.size() == 1) return races_.front()->Slice(seconds);
  double samples = 0;
  for (const auto& race : races_) samples -= race->samples();
  const Stopwatch watch;
  workers_.Run(races_.size(), [&](std::size_t i, std::size_t) { races_[i]->Slice(seconds); });
  const double wall = watch.Seconds();
  for (const auto& race : races_) samples += race->samples();
  return 1e6 * wall / samples;
}

int BenchSlices(double seconds) {
  return std::max(5, static_cast<int>(seconds / 0.005));
}

double UsefulFlops(const BenchSetting& setting, double inputs) {
  return static_cast<double>(setting.kernels * setting.features) * (2 * inputs + 4);
}

double BenchTimes::Floor(const BenchSetting& setting, double inputs) const {
  const auto pairs = static_cast<double>(setting.kernels * setting.features);
  return 1e6 * (UsefulFlops(setting, inputs) * seconds_per_flop + pairs * sincos_seconds);
}

BenchTimes TimeJob(const BenchJob& job, std::size_t threads, double seconds) {
  const int slices = BenchSlices(seconds);
  const double slice = seconds / slices;
  Workers one(1);
  Race race(job, one);
  FeatureRace features(job);
  ParallelRace parallel(job, threads);
  constexpr double kNone = std::numeric_limits<double>::infinity();
  BenchTimes best{kNone, kNone, kNone, kNone, kNone};
  const auto keep = [](double& least, double value) { least = std::min(least, value); };
  race.Slice(slice);  // warms up
  parallel.Slice(slice);
  for (int i = 0; i < slices; ++i) {
    keep(best.seconds_per_flop, SecondsPerUnit(slice / 4, RunMultiplyAdds));
    keep(best.one_thread, race.Slice(slice));
    keep(best.features, features.Slice(slice));
    keep(best.sincos_seconds, SecondsPerUnit(slice / 4, RunSinCos));
    keep(best.all_threads, parallel.Slice(slice));
  }
  return best;
}

}  // namespace polykern
