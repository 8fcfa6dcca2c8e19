#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <string>

#include "polykern/core/double_sum.h"
#include "polykern/core/error.h"
#include "polykern/privacy/noise_opener.h"
#include "polykern/sim/fingerprint_internal.h"
#include "polykern/sim/intervals_internal.h"
#include "polykern/sim/ranks/communicator.h"
#include "polykern/sim/ranks/exchange.h"
#include "polykern/sim/simulation.h"

// What a simulation gives when its steps are over: the result of a run, and its state.

namespace polykern {
namespace {

/// Steps in which no client took part have no error.
double MeanOfNumbers(std::span<const double> values) {
  std::vector<double> numbers;
  std::ranges::copy_if(values, std::back_inserter(numbers),
                       [](double value) { return !std::isnan(value); });
  return SpreadOf(numbers).mean;
}

Traffic SumOver(Communicator& ranks, const Traffic& own) {
  const auto words = std::bit_cast<std::array<std::uint32_t, sizeof(Traffic) / 4>>(own);
  std::vector<Words> all;
  ranks.AllGather({words.begin(), words.end()}, all);
  Traffic sum;
  for (const Words& one : all) {
    auto bits = words;
    std::ranges::copy(one, bits.begin());
    sum.Add(std::bit_cast<Traffic>(bits));
  }
  return sum;
}

}  // namespace

/// Of this rank's clients at the end of a run.
struct Simulation::OwnScores {
  DoubleSum squared_error;
  std::size_t over_bound = 0;
  bool unit_losses = true;
  std::vector<double> regret = {};
  std::vector<double> client_mse = {};  // of the plan's clients; 0: another rank's
};

Simulation::OwnScores Simulation::ScoreClients(double rate, const WeightPlan& plan) const {
  OwnScores own;
  for (std::size_t k = 0; k < scores_.clients(); ++k) {
    own.squared_error.Add(scores_.SquaredError(k));
    own.regret.push_back(algorithm_.experts() > 0 ? scores_.Regret(k) : 0);
    const bool unit = scores_.LossesInUnitRange(k);
    own.unit_losses &= unit;
    if (rate > 0 && unit &&
        scores_.Regret(k) > RegretBound(algorithm_.experts(), rate, scores_.Steps(k))) {
      ++own.over_bound;
    }
  }
  for (const std::size_t client : plan.clients) {
    const std::size_t k = clients_.size() > 0 ? client - clients_.Id(0) : 0;  // too large if below
    const bool has = k < clients_.size();
    own.client_mse.push_back(has ? scores_.SquaredError(k) / static_cast<double>(scores_.Steps(k))
                                 : 0);
  }
  return own;
}

void Simulation::MeasureIntervals(Repetition& run) {
  std::vector<std::int64_t> sums(2);
  DoubleSum width;
  std::vector<double> coverage;
  for (const ClientIntervals& own : intervals_) {
    sums[0] += own.counted;
    sums[1] += own.covered;
    width.Add(own.width);
    coverage.push_back(static_cast<double>(own.covered) / static_cast<double>(own.counted));
  }
  run.client_coverage = ranks_.Gather(coverage);
  sums.insert(sums.end(), width.words().begin(), width.words().end());
  ranks_.Sum(sums);
  run.intervals = {static_cast<double>(sums[0]), static_cast<double>(sums[1]),
                   DoubleSum::Value(std::span(sums).last<DoubleSum::kWords>())};
}

void Simulation::Measure(Repetition& run, const RunOptions& options, std::uint64_t bytes_before) {
  run.step_mse = step_mse_;
  run.step_regret = step_regret_;
  run.step_coverage = step_coverage_;
  run.step_epsilon = step_epsilon_;
  run.predictions = predictions_;
  run.ends = ends_;
  run.finished = !run.divergence;
  run.has_regret = algorithm_.experts() > 0;
  run.traffic = SumOver(ranks_, traffic_);
  if (noise_) run.epsilon_spent = noise_->EpsilonSpent();
  const double rate = options.equal_weights ? algorithm_.weight_rate() : 0;
  if (run.finished && rate > 0) {
    run.bound = RegretBound(algorithm_.experts(), rate, stream_.steps());
  }
  OwnScores own = ScoreClients(rate, options.weights);
  std::vector<std::int64_t> sums = {static_cast<std::int64_t>(Fingerprint(ranks_.rank() == 0)),
                                    static_cast<std::int64_t>(own.over_bound),
                                    own.unit_losses ? 0 : 1,
                                    static_cast<std::int64_t>(ranks_.bytes() - bytes_before)};
  sums.insert(sums.end(), own.squared_error.words().begin(), own.squared_error.words().end());
  ranks_.Sum(sums);
  run.fingerprint = static_cast<std::uint64_t>(sums[0]);
  run.rank_bytes = static_cast<double>(sums[3]) /
                   static_cast<double>(ranks_.size() * std::max<std::size_t>(1, step()));
  if (!run.finished) {
    run.mse = MeanOfNumbers(run.step_mse);
    run.weights = {};
    return;
  }
  if (run.traffic.messages == 0) {
    throw Error("no client took part in any step; raise " + OptionName("participation"));
  }
  run.over_bound = static_cast<std::size_t>(sums[1]);
  run.unit_losses = sums[2] == 0;
  run.mse = DoubleSum::Value(std::span(sums).last<DoubleSum::kWords>()) /
            static_cast<double>(run.traffic.messages);
  run.regret = ranks_.Gather(own.regret);
  if (options_.coverage) MeasureIntervals(run);
  run.client_mse = own.client_mse;
  BroadcastFromOwner(ranks_, run.client_mse);
  BroadcastFromOwner(ranks_, run.weights.trace);
  BroadcastFromOwner(ranks_, run.weights.last);
}

std::uint64_t Simulation::Fingerprint(bool with_model) const {
  std::uint64_t sum = fingerprint_;
  if (!with_model) return sum;
  for (std::size_t i = 0; i < broadcast().model.size(); ++i) {
    sum += Mix(std::bit_cast<std::uint32_t>(broadcast().model[i]) ^ Mix(~i));
  }
  for (std::size_t i = 0; i < broadcast().weights.size(); ++i) {
    sum += Mix(std::bit_cast<std::uint64_t>(broadcast().weights[i]) ^ Mix(i + (1ULL << 62)));
  }
  return sum;
}

std::vector<double> Simulation::Save() const {
  const auto number = [](std::uint64_t value) { return static_cast<double>(value); };
  const std::vector<double> noise = noise_ ? noise_->Save() : std::vector<double>();
  std::vector<double> saved = {number(step()),
                               number(fingerprint_ >> 32),
                               number(fingerprint_ & UINT32_MAX),
                               number(traffic_.messages),
                               number(traffic_.up_numbers),
                               number(traffic_.up_bytes),
                               number(traffic_.down_bytes),
                               number(traffic_.largest_up),
                               number(noise.size())};
  const auto append = [&](const std::vector<double>& part) {
    saved.insert(saved.end(), part.begin(), part.end());
  };
  append(step_mse_);
  append(step_regret_);
  append(coordinator_.Save());
  append(clients_.Save());
  append(scores_.Save());
  append(step_coverage_);
  append(noise);
  append(step_epsilon_);
  for (const ClientIntervals& own : intervals_) own.AppendTo(saved);
  for (const Forecast& made : forecasts_) {
    const Interval told = made.interval.value_or(Interval{std::nan(""), 0});
    saved.insert(saved.end(), {made.f, told.low, told.high});
  }
  return saved;
}

void Simulation::Load(std::span<const double> saved) {
  constexpr std::size_t kHead = 9;
  const auto fail = [] { throw Error("a saved simulation does not fit: it has other settings"); };
  if (saved.size() < kHead) fail();
  const auto whole = [&](std::size_t i) {
    if (!(saved[i] >= 0 && saved[i] < 0x1p64)) fail();
    return static_cast<std::uint64_t>(saved[i]);
  };
  const std::uint64_t step = whole(0);
  const std::uint64_t noise = whole(8);
  if (step > saved.size() || noise > (noise_ ? saved.size() : 0)) fail();
  const std::size_t state = clients_.Save().size();
  const std::size_t scores = scores_.Save().size();
  const std::size_t steps = options_.coverage ? step : 0;
  const std::size_t tracked = intervals_.empty() ? 0 : intervals_.front().StateSize();
  const std::size_t intervals = tracked * intervals_.size();
  // The model's size may change from step to step: its Load knows.
  const std::size_t others = kHead + 2 * step + state + scores + steps + intervals +
                             3 * forecasts_.size() + noise + (noise_ ? step : 0);
  if (saved.size() < others) fail();
  const std::size_t model = saved.size() - others;
  std::size_t at = kHead;
  const auto take = [&](std::size_t count) {
    at += count;
    return saved.subspan(at - count, count);
  };
  fingerprint_ = whole(1) << 32 | whole(2);
  traffic_ = {whole(3), whole(4), whole(5), whole(6), whole(7)};
  const auto mse = take(step);
  step_mse_.assign(mse.begin(), mse.end());
  const auto regret = take(step);
  step_regret_.assign(regret.begin(), regret.end());
  coordinator_.Load(step, take(model));
  clients_.Load(take(state));
  scores_.Load(take(scores));
  const auto coverage = take(steps);
  step_coverage_.assign(coverage.begin(), coverage.end());
  const auto noisy_sums = take(noise);
  if (noise_) {
    noise_->Load(noisy_sums);
    const auto epsilon = take(step);
    step_epsilon_.assign(epsilon.begin(), epsilon.end());
  }
  for (ClientIntervals& own : intervals_) own.Load(take(tracked), stream_.dimension());
  for (Forecast& made : forecasts_) {
    const auto numbers = take(3);
    made.f = numbers[0];
    made.interval.reset();
    if (!std::isnan(numbers[1])) made.interval = {numbers[1], numbers[2]};
  }
}

}  // namespace polykern
