#include "polykern/sim/simulation.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>

#include "polykern/algorithms/registry.h"
#include "polykern/core/double_sum.h"
#include "polykern/core/error.h"
#include "polykern/core/exact_sum.h"
#include "polykern/privacy/noise_opener.h"
#include "polykern/sim/fingerprint_internal.h"
#include "polykern/sim/fleet.h"
#include "polykern/sim/intervals_internal.h"
#include "polykern/sim/ranks/communicator.h"
#include "polykern/sim/ranks/exchange.h"
#include "polykern/sim/ranks/update_relay.h"
#include "polykern/sim/simulated_masks.h"
#include "polykern/sim/simulation_internal.h"
#include "polykern/sim/stream_history.h"
#include "polykern/sim/weight_watch.h"

namespace polykern {

namespace {

std::unique_ptr<SimulatedMasks> MasksOf(const Algorithm& algorithm, const Stream& stream,
                                        const Simulation::Options& options) {
  const bool sends_sums = !algorithm.shape().sums.empty();  // others have nothing to mask
  if (!sends_sums || algorithm.definition().options.masking == Masking::kNone) return nullptr;
  if (options.ranks != nullptr && options.ranks->size() > 1) {
    throw Error("masks are simulated in one process; leave out " + OptionName("masking") +
                ", or the other ranks");
  }
  if (algorithm.definition().options.masking == Masking::kPairwise && options.participation < 1) {
    throw Error(OptionName("masking", "pairwise") +
                " needs every client in every step: leave out " + OptionName("participation") +
                ", or choose " + OptionName("masking", "helper"));
  }
  return std::make_unique<SimulatedMasks>(algorithm, options.seed, stream.clients());
}

/// Not those of single messages, or of sums over samples.
bool MayNumbersBeSmaller(const Algorithm& algorithm) {
  return algorithm.kept_samples() == 0 && !TraitsOf(algorithm.name()).needs_single_messages;
}

}  // namespace

void CheckClients(const Algorithm& algorithm, std::uint64_t clients) {
  const std::uint64_t most = MayNumbersBeSmaller(algorithm)
                                 ? std::max(algorithm.most_clients(), ExactSum::kMostTerms)
                                 : algorithm.most_clients();
  if (clients <= most) return;
  throw Error(std::to_string(clients) + " clients are too many: at most " + std::to_string(most) +
              " fit into one step; lower " + OptionName("clients") +
              (algorithm.kept_samples() > 0 ? ", or " + OptionName("most_samples") : ""));
}

Simulation::Simulation(const Algorithm& algorithm, const Stream& stream, Clients& clients,
                       Workers& workers, const Options& options)
    : algorithm_(algorithm),
      stream_(stream),
      clients_(clients),
      workers_(workers),
      options_(options),
      alone_(RunAlone()),
      ranks_(options.ranks != nullptr ? *options.ranks : *alone_),
      masks_(MasksOf(algorithm, stream, options)),
      noise_(MakeNoiseOpener(algorithm, stream.samples_per_row())),
      coordinator_(algorithm, clients.size(), workers.size(),
                   clients.size() > 0 ? clients.Id(0) : 0),
      scores_(clients.size(), options.device == nullptr ? algorithm.experts() : 0),
      samples_(workers.size()),
      totals_(workers.size()),
      sums_(2 * DoubleSum::kWords + (options.coverage ? 2 : 0) + 1) {
  assert(options.ranks != nullptr || clients.size() == stream.clients());
  const Attendance attendance{options.seed, options.participation};
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    histories_.push_back(std::make_unique<StreamHistory>(stream, attendance));
    rounds_.emplace_back(algorithm, *options.engine, masks_ ? masks_->sealing() : PlainSealing())
        .ReadFrom(*histories_.back());
  }
  if (masks_) coordinator_.TakeMasked();
  if (noise_) coordinator_.LetCallerOpen();
  CheckClients(algorithm, stream.clients());
  coordinator_.LimitNumbers(ExactSum::LimitOf(stream.clients()));
  if (ranks_.size() > 1 && coordinator_.Sums().empty()) {
    relay_ = std::make_unique<UpdateRelay>(algorithm.shape(), coordinator_, ranks_, workers.size());
  }
  step_mse_.reserve(stream.steps());
  step_regret_.reserve(stream.steps());
  assert(options.uniforms.empty() || options.uniforms.size() == stream.clients() * stream.steps());
  if (options.coverage) {
    intervals_.assign(clients.size(), ClientIntervals(*options.coverage, stream.dimension()));
  }
  if (stream.ahead() > 1) forecasts_.resize(stream.ahead() * clients.size());
  if (options.keep_predictions) {
    assert(clients.size() == stream.clients());
    predictions_.assign(stream.clients() * stream.steps(),
                        std::numeric_limits<double>::quiet_NaN());
    if (options.coverage) {
      ends_.assign(2 * predictions_.size(), std::numeric_limits<double>::quiet_NaN());
    }
  }
  if (options.device != nullptr) fleet_ = NewFleet();
}

Simulation::~Simulation() = default;

const Broadcast& Simulation::broadcast() const {
  return relay_ ? relay_->broadcast() : coordinator_.broadcast();
}

Repetition Simulation::Run(const RunOptions& options) {
  Repetition run;
  WeightWatch watch(algorithm_, options.weights);
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t bytes_before = ranks_.bytes();
  try {
    while (!done()) {
      Step();
      ReadStates(watch.Seen(step()));
      watch.Look(step(), clients_);
      if (options.passed) options.passed(1);
    }
  } catch (const Error& error) {
    run.divergence = {0, step(), error.what()};
    if (options.passed) options.passed(stream_.steps() - step());
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  run.seconds = elapsed.count() * static_cast<double>(workers_.size() * ranks_.size());
  run.weights = watch.weights();
  ReadDevice();
  Measure(run, options, bytes_before);
  return run;
}

void Simulation::Step() {
  assert(!done());
  // What all clients of this step work from.
  const Broadcast& sent = broadcast();
  // The clients, in cohorts side by side: each predicts, learns from its label, and answers.
  for (Totals& totals : totals_) totals = {};
  std::string failure;
  bool lost = false;
  try {
    if (fleet_) {
      StepOnDevice(sent);
    } else {
      StepOnCpu(sent);
    }
  } catch (const Error& error) {
    failure = error.marked();
  } catch (const DeviceFailure& error) {
    failure = error.what();
    lost = true;
  }
  // What they answered, and how well they did: over all workers, then over all ranks.
  SumOverWorkers();
  Exchange(failure, lost);
  Record();
  // The server changes theta: the next broadcast is ready.
  Commit();
}

void Simulation::StepOnCpu(const Broadcast& sent) {
  for (const auto& history : histories_) history->Begin(step());
  workers_.Run(CohortsOf(*options_.engine, clients_.size()),
               [this, &sent](std::size_t cohort, std::size_t worker) {
                 const std::size_t first = cohort * options_.engine->cohort_size();
                 if (!forecasts_.empty()) LookAhead(sent, first, worker);
                 const SampleBlock& samples = Read(step(), first, samples_[worker]);
                 ClientRound& round = rounds_[worker];
                 round.Predict(sent, clients_, first, samples.x, samples.present,
                               UniformsOf(step(), first, samples.present.size()));
                 const Updates& updates = round.Learn(samples.y);
                 Receive(updates, worker);
                 Score(first, samples, round, updates, totals_[worker]);
               });
}

/// Predicts the labels that must be predicted now, though their step is yet to come.
void Simulation::LookAhead(const Broadcast& sent, std::size_t first, std::size_t worker) {
  const std::size_t ahead = stream_.ahead();
  const std::size_t end = std::min(step() + ahead, stream_.steps());
  for (std::size_t at = step() == 0 ? 0 : step() + ahead - 1; at < end; ++at) {
    const SampleBlock& samples = Read(at, first, samples_[worker]);
    ClientRound& round = rounds_[worker];
    round.Predict(sent, clients_, first, samples.x, samples.present,
                  UniformsOf(at, first, samples.present.size()));
    for (std::size_t i = 0; i < round.participants().size(); ++i) {
      const std::size_t client = first + round.participants()[i];
      Forecast& made = forecasts_[at % ahead * clients_.size() + client];
      made.f = round.predictions()[i];
      if (!intervals_.empty()) {
        made.interval = intervals_[client].tracker.Around(
            algorithm_.loss().Predicted(made.f),
            MatrixRow(samples.x, round.participants()[i], stream_.dimension()));
      }
    }
  }
}

SampleBlock& Simulation::Read(std::size_t at, std::size_t first, SampleBlock& samples) const {
  const std::size_t count = std::min(options_.engine->cohort_size(), clients_.size() - first);
  stream_.Read(at, clients_.Id(first), count, samples);
  const Attendance attendance{options_.seed, options_.participation};
  for (std::size_t k = 0; k < count; ++k) {
    if (!attendance.Attends(clients_.Id(first + k), at)) samples.present[k] = 0;
  }
  return samples;
}

std::span<const double> Simulation::UniformsOf(std::size_t at, std::size_t first,
                                               std::size_t count) const {
  if (options_.uniforms.empty()) return {};
  return options_.uniforms.subspan(at * stream_.clients() + clients_.Id(first), count);
}

void Simulation::Receive(const Updates& updates, std::size_t worker) {
  if (relay_) {
    relay_->Receive(updates, worker);
  } else {
    coordinator_.Receive(updates, worker);
  }
}

void Simulation::Score(std::size_t first, const SampleBlock& samples, const ClientRound& round,
                       const Updates& updates, Totals& totals) {
  const std::size_t at = step() * stream_.clients() + clients_.Id(first);
  const ModelShape& shape = algorithm_.shape();
  const std::uint64_t down = 4 * broadcast().model.size() + 8 * broadcast().weights.size();
  for (std::size_t i = 0; i < round.participants().size(); ++i) {
    const std::size_t k = round.participants()[i];
    const double y = samples.y[k];
    const double learnt = round.predictions()[i];
    Forecast made{learnt, {}};
    if (!forecasts_.empty()) {
      made = forecasts_[step() % stream_.ahead() * clients_.size() + first + k];
    }
    const double f = made.f;
    if (!std::isfinite(f) || !std::isfinite(learnt)) {
      throw Error("the prediction of client " + std::to_string(clients_.Id(first + k)) +
                  " for step " + std::to_string(step()) + " is not finite");
    }
    const double predicted = algorithm_.loss().Predicted(f);
    const double error = predicted - y;
    scores_.Record(first + k, error * error, algorithm_.loss().Value(learnt, y),
                   round.KernelLosses(i));
    totals.squared_error.Add(error * error);
    if (!intervals_.empty()) {
      IntervalTracker& tracker = intervals_[first + k].tracker;
      const auto x = MatrixRow(samples.x, k, stream_.dimension());
      if (forecasts_.empty()) made.interval = tracker.Around(predicted, x);
      tracker.Take(y, predicted, x, made.interval);
      ScoreInterval(first + k, at + k, made.interval, y, totals);
    }
    totals.fingerprint += Mix(std::bit_cast<std::uint64_t>(f) ^ Mix(at + k));
    if (options_.keep_predictions) predictions_[at + k] = f;
    const std::uint64_t blocks = updates.BlocksOf(i).size();
    const std::uint64_t numbers = updates.NumbersOf(shape, i);
    const std::uint64_t masks = updates.nonces.empty() ? 0 : SimulatedMasks::kBytes;
    const std::uint64_t bytes = (shape.ring.bits > 32 ? 8 : 4) * numbers + 4 * blocks + masks;
    totals.traffic.Add({1, numbers, bytes, down, numbers});
  }
  if (algorithm_.experts() == 0) return;
  const std::size_t count = samples.present.size();
  for (std::size_t k = 0; k < count; ++k) totals.regret.Add(scores_.Regret(first + k));
}

void Simulation::ScoreInterval(std::size_t client, std::size_t at,
                               const std::optional<Interval>& interval, double y, Totals& totals) {
  if (!interval) return;
  ClientIntervals& own = intervals_[client];
  const bool covers = interval->Has(y);
  ++own.counted;
  own.covered += covers ? 1 : 0;
  ++totals.intervals;
  totals.covered += covers ? 1 : 0;
  own.width += interval->width();
  if (ends_.empty()) return;
  ends_[2 * at] = interval->low;
  ends_[2 * at + 1] = interval->high;
}

void Simulation::SumOverWorkers() {
  Totals& all = totals_.front();
  for (const Totals& totals : std::span(totals_).subspan(1)) all.Add(totals);
  std::ranges::copy(all.squared_error.words(), sums_.begin());
  std::ranges::copy(all.regret.words(), sums_.begin() + DoubleSum::kWords);
  if (options_.coverage) {
    sums_[2 * DoubleSum::kWords] = all.intervals;
    sums_[2 * DoubleSum::kWords + 1] = all.covered;
  }
  sums_.back() = static_cast<std::int64_t>(all.traffic.messages);
}

/// One sum of integers over all ranks, the server's and the step's together, whose size does not
/// depend on the clients. If the server needs only sums, every rank then changes its own copy of
/// the model alike.
void Simulation::Exchange(const std::string& failure, bool lost) {
  if (ranks_.size() == 1) {
    if (lost) throw DeviceFailure(failure);
    if (!failure.empty()) throw Error(failure);
    if (stream_.clients() > ExactSum::kMaxTerms) coordinator_.Sums();  // they fit: LimitNumbers
    return;
  }
  auto parts = coordinator_.Sums();  // nothing, if there is a relay
  parts.push_back(sums_);
  lost_ = {lost ? 1 : 0};
  parts.emplace_back(lost_);
  try {
    SumOverRanks(ranks_, parts, failure, scratch_);
  } catch (const Error& error) {
    if (lost_[0] > 0) throw DeviceFailure(error.what());
    throw;
  }
  if (relay_) relay_->Deliver();
}

void Simulation::Record() {
  fingerprint_ += totals_.front().fingerprint;
  traffic_.Add(totals_.front().traffic);
  const auto sums = std::span<const std::int64_t>(sums_);
  const double squared_error = DoubleSum::Value(sums.first<DoubleSum::kWords>());
  const double regret = DoubleSum::Value(sums.subspan<DoubleSum::kWords, DoubleSum::kWords>());
  // NaN if no client took part.
  step_mse_.push_back(squared_error / static_cast<double>(sums_.back()));
  step_regret_.push_back(algorithm_.experts() == 0
                             ? std::numeric_limits<double>::quiet_NaN()
                             : regret / static_cast<double>(stream_.clients()));
  if (options_.coverage) {
    step_coverage_.push_back(static_cast<double>(sums[2 * DoubleSum::kWords + 1]) /
                             static_cast<double>(sums[2 * DoubleSum::kWords]));
  }
}

void Simulation::Commit() {
  const auto participants = static_cast<std::uint64_t>(sums_.back());
  const RunJobs run = [this](std::size_t count, const auto& job) { workers_.Run(count, job); };
  if (!relay_) {
    coordinator_.Commit(participants, run);
    if (noise_) step_epsilon_.push_back(step_epsilon_.empty() ? 0 : step_epsilon_.back());
    if (coordinator_.releases().empty()) return;
    for (Release& release : coordinator_.releases()) {
      if (masks_) masks_->opener().Open(release);
      if (noise_) noise_->Open(release);  // with ranks, each of them adds the same
    }
    coordinator_.Open();
    if (noise_) step_epsilon_.back() = noise_->EpsilonSpent();
    return;
  }
  std::string failure;
  try {
    coordinator_.Commit(participants, run);
  } catch (const Error& error) {
    failure = error.marked();
  }
  relay_->ShareModel(failure);
}

}  // namespace polykern
