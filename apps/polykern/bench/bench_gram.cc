#include "bench/bench_gram.h"

#include <algorithm>
#include <ctime>
#include <memory>

#include "bench/bench_setting.h"
#include "polykern/algorithms/registry.h"
#include "polykern/federation/client.h"
#include "polykern/federation/coordinator.h"
#include "polykern/sim/stream_history.h"

namespace polykern {
namespace {

/// Seconds of this thread's processor time since it was made: others on the machine do not count.
class ProcessorWatch {
 public:
  double Seconds() const { return Now() - start_; }

 private:
  static double Now() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }
  double start_ = Now();
};

/// A whole federation on one thread, timed part by part.
class TimedFederation {
 public:
  TimedFederation(const std::string& name, std::size_t clients, std::uint64_t seed)
      : stream_(MakeBenchJob({name, GramTimes::kDimension, 1, 1, 1, clients}, seed).stream),
        algorithm_(MakeAlgorithm(name, {},
                                 {GramTimes::kDimension, kBenchSteps, seed, stream_->clients()})),
        clients_(*algorithm_, 0, clients),
        history_(*stream_, {}),
        round_(*algorithm_),
        coordinator_(*algorithm_, clients) {
    round_.ReadFrom(history_);
    line_.algorithm = name;
    line_.clients = clients;
  }

  void Step() {
    const std::size_t cohort = CpuEngine().cohort_size();
    history_.Begin(step_);
    for (std::size_t first = 0; first < clients_.size(); first += cohort) {
      stream_->Read(step_, first, std::min(cohort, clients_.size() - first), block_);
      const ProcessorWatch at_clients;
      round_.Predict(coordinator_.broadcast(), clients_, first, block_.x, block_.present);
      const Updates& updates = round_.Learn(block_.y);
      line_.client_step += at_clients.Seconds();
      const ProcessorWatch at_server;
      coordinator_.Receive(updates);
      line_.message += at_server.Seconds();
    }
    const ProcessorWatch at_server;
    coordinator_.Commit();
    line_.commit += at_server.Seconds();
    ++step_;
  }

  /// After as many steps as there will be.
  GramTimes::Line Means() const {
    GramTimes::Line line = line_;
    line.commit *= 1e6 / static_cast<double>(step_);
    for (double* each : {&line.client_step, &line.message}) {
      *each *= 1e6 / static_cast<double>(step_ * clients_.size());
    }
    return line;
  }

 private:
  std::shared_ptr<const Stream> stream_;
  std::unique_ptr<const Algorithm> algorithm_;
  Clients clients_;
  StreamHistory history_;
  ClientRound round_;
  Coordinator coordinator_;
  SampleBlock block_;
  std::size_t step_ = 0;
  GramTimes::Line line_;
};

}  // namespace

GramTimes MeasureGram(double seconds, std::uint64_t seed) {
  GramTimes times;
  times.steps = static_cast<std::size_t>(std::clamp(200 * seconds, 20.0, 1.0 * kBenchSteps));
  std::vector<std::unique_ptr<TimedFederation>> federations;
  const auto add = [&](const char* name, std::size_t clients) {
    federations.push_back(std::make_unique<TimedFederation>(name, clients, seed));
  };
  add("pof-newton", GramTimes::kClients);
  add("pof-gram", GramTimes::kClients);
  add("pof-gram", GramTimes::kCrowd * GramTimes::kClients);
  add("fed-poe", GramTimes::kClients);
  constexpr std::size_t kTurn = 10;  // steps: caches settle, and all are disturbed alike
  for (std::size_t done = 0; done < times.steps; done += kTurn) {
    for (const auto& federation : federations) {
      for (std::size_t i = done; i < std::min(done + kTurn, times.steps); ++i) federation->Step();
    }
  }
  for (const auto& federation : federations) times.lines.push_back(federation->Means());
  return times;
}

}  // namespace polykern
