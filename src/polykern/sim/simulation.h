#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/engine.h"
#include "polykern/core/metrics.h"
#include "polykern/data/stream.h"
#include "polykern/federation/client.h"
#include "polykern/federation/coordinator.h"
#include "polykern/results/row.h"
#include "polykern/sim/workers.h"

namespace polykern {

class Communicator;
class Fleet;
class FleetData;
class NoiseOpener;
class WeightWatch;
class SimulatedMasks;
class StreamHistory;
class UpdateRelay;

struct ClientIntervals;
struct Interval;
struct Forecast;

/// Throws Error for more clients than the sums of an algorithm's step hold. From 2^24 on the
/// numbers in their updates must be smaller, so that sums still fit (ExactSum::LimitOf).
void CheckClients(const Algorithm& algorithm, std::uint64_t clients);

/// One run of one algorithm over a stream: many clients in one process, step by step. A step reads
/// samples, takes the clients through a round in cohorts on the workers' threads, and commits.
/// Predictions, model and all results have the same bits for any number of threads.
///
/// Where the stream is to be predicted several steps ahead, the prediction that counts is the one
/// made that early, with the model and the client's state of that time; learning takes place when
/// the label is known, as always, and so does the regret.
///
/// The clients may be spread over ranks: each has a simulation of its own clients, and all of them
/// step together. broadcast, step_mse and step_regret are then those of all clients, on every rank;
/// scores, traffic and fingerprint those of its own.
class Simulation {
 public:
  struct Options {
    std::uint64_t seed = 0;         ///< of the clients' absences
    double participation = 1;       ///< a client with a sample takes part with this probability
    bool keep_predictions = false;  ///< keep every prediction: steps x clients numbers
    std::optional<double> coverage = {};  ///< wished of intervals, in (0, 1); unset: none
    std::span<const double> uniforms =
        {};  ///< steps x clients: fixes every draw; empty: from the seed
    /// That have the stream's other clients; null: there are none. Not public: of the program
    /// alone.
    Communicator* ranks = nullptr;
    const Engine* engine = &CpuEngine();  ///< that takes the clients through their rounds
    /// The stream on a device that takes them through whole steps instead; null: there is none. Not
    /// public: of the program alone. Then step_mse, step_regret, broadcast and what Run gives are
    /// there, but neither Save nor the clients' states unless `carries_states`.
    const FleetData* device = nullptr;
    /// The clients may have learnt before, and are read after Run. False: they are at
    /// their start, and are not read.
    bool carries_states = true;
  };

  /// Throws Error for more clients than exact sums hold, for masks and ranks together, and for
  /// more noise than there is.
  /// Everything passed in must outlive the simulation. `clients`, all of the stream's or this
  /// rank's, is changed by every step; pass it on to another simulation to carry weights over.
  Simulation(const Algorithm& algorithm, const Stream& stream, Clients& clients, Workers& workers,
             const Options& options);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  std::size_t step() const { return static_cast<std::size_t>(broadcast().step); }
  bool done() const { return step() >= stream_.steps(); }

  /// One step. Throws Error if an update leaves the representable range or a prediction is not
  /// finite, which means that the run diverges; then only step_mse and step_regret, which end with
  /// the step before, may still be used. With ranks, all of them throw.
  void Step();

  struct RunOptions {
    const WeightPlan& weights;  ///< whose weights to look at, and when
    /// The clients start with equal weights, as Theorem 2 requires.
    bool equal_weights = true;
    /// Is called with the number of finished steps; what it throws, other than Error, ends the
    /// run.
    std::function<void(std::size_t)> passed = {};
  };
  /// All steps that are left. A run that diverges keeps what it had and says so; its repetition is
  /// then 0. With ranks, the per-client parts of the result are on rank 0 alone, the rest is on
  /// all. Throws Error if no client took part in any step.
  Repetition Run(const RunOptions& options);

  const Broadcast& broadcast() const;
  const Scoreboard& scores() const { return scores_; }
  const Traffic& traffic() const { return traffic_; }
  /// Per step: the mean squared error over the step's participants, NaN if there were none, and the
  /// mean regret so far over all clients, NaN if the algorithm has no experts to compare with.
  std::span<const double> step_mse() const { return step_mse_; }
  std::span<const double> step_regret() const { return step_regret_; }
  /// steps x clients if kept; absent clients have NaN.
  std::span<const double> predictions() const { return predictions_; }
  /// One number that depends on every bit of every prediction; and of the model, if that is asked
  /// for. Those of several ranks, one of them with the model, add up to that of all clients.
  std::uint64_t Fingerprint(bool with_model = true) const;

  /// The whole state as numbers; a new simulation of the same things that loads it continues with
  /// the same bits, intervals included. Kept predictions are not part of it. Not with ranks.
  std::vector<double> Save() const;
  void Load(std::span<const double> saved);

 private:
  struct Totals;     // of a step
  struct OwnScores;  // of a run

  void StepOnCpu(const Broadcast& sent);
  void StepOnDevice(const Broadcast& sent);
  // The parts of a step.
  SampleBlock& Read(std::size_t at, std::size_t first, SampleBlock& samples) const;
  std::span<const double> UniformsOf(std::size_t at, std::size_t first, std::size_t count) const;
  void LookAhead(const Broadcast& sent, std::size_t first, std::size_t worker);
  void Receive(const Updates& updates, std::size_t worker);
  void Score(std::size_t first, const SampleBlock& samples, const ClientRound& round,
             const Updates& updates, Totals& totals);
  void ScoreInterval(std::size_t client, std::size_t at, const std::optional<Interval>& interval,
                     double y, Totals& totals);
  void SumOverWorkers();
  void Exchange(const std::string& failure, bool lost);
  void Record();
  void Commit();
  // What the device has, where the CPU reads it.
  std::unique_ptr<Fleet> NewFleet();
  void ReadStates(std::span<const std::size_t> clients);
  void ReadDevice();
  // The result of a run.
  void MeasureIntervals(Repetition& run);
  OwnScores ScoreClients(double rate, const WeightPlan& plan) const;
  void Measure(Repetition& run, const RunOptions& options, std::uint64_t bytes_before);

  const Algorithm& algorithm_;
  const Stream& stream_;
  Clients& clients_;
  Workers& workers_;
  Options options_;
  std::unique_ptr<Communicator> alone_;
  Communicator& ranks_;
  std::unique_ptr<SimulatedMasks> masks_;  // null: messages are plain
  std::unique_ptr<NoiseOpener> noise_;     // null: sums are released as they are
  Coordinator coordinator_;
  std::unique_ptr<Fleet> fleet_;        // null: the CPU takes the clients through their steps
  std::unique_ptr<UpdateRelay> relay_;  // if there are ranks, and the server needs single updates
  Scoreboard scores_;
  Traffic traffic_;
  std::uint64_t fingerprint_ = 0;
  std::vector<std::unique_ptr<StreamHistory>> histories_;  // one per worker
  std::vector<ClientRound> rounds_;                        // one per worker
  std::vector<SampleBlock> samples_;                       // one per worker
  std::vector<Totals> totals_;                             // one per worker
  std::vector<std::int64_t> sums_;  // of the step: both sums of doubles, intervals and covering
                                    // ones if they are asked for, and the participants
  std::vector<std::int64_t> scratch_;
  std::array<std::int64_t, 1> lost_ = {};  // ranks whose device failed
  std::vector<double> step_mse_;
  std::vector<double> step_regret_;
  std::vector<double> predictions_;
  std::vector<ClientIntervals> intervals_;  // none unless they are wished
  std::vector<double> ends_;                // as Repetition has them
  std::vector<double> step_coverage_;       // NaN: no client had an interval
  std::vector<double> step_epsilon_;        // with noise: spent after each step
  std::vector<Forecast> forecasts_;  // ahead() x clients, if labels are predicted before their step
};

}  // namespace polykern
