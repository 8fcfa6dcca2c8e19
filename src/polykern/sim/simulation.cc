#include "polykern/sim/simulation.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>
#include <string>

#include "polykern/core/error.h"
#include "polykern/core/exact_sum.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

/// A well-mixed 64-bit number (the finaliser of SplitMix64).
std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace

Simulation::Simulation(const Algorithm& algorithm, const Stream& stream, Clients& clients,
                       Workers& workers, const Options& options)
    : algorithm_(algorithm),
      stream_(stream),
      clients_(clients),
      workers_(workers),
      options_(options),
      alone_(RunAlone()),
      server_(algorithm, {clients.size() > 0 ? clients.Id(0) : 0, clients.size()},
              options.ranks != nullptr ? *options.ranks : *alone_, workers.size()),
      scores_(clients.size(), algorithm.experts()),
      samples_(workers.size()),
      totals_(workers.size()),
      sums_(2 * DoubleSum::kWords + 1) {
  assert(options.ranks != nullptr || clients.size() == stream.clients());
  for (std::size_t worker = 0; worker < workers.size(); ++worker) {
    rounds_.emplace_back(algorithm, *options.engine);
  }
  if (stream.clients() > ExactSum::kMaxTerms) {
    throw Error(std::to_string(stream.clients()) + " clients are too many: at most " +
                std::to_string(ExactSum::kMaxTerms) + " fit into one step; lower " +
                OptionName("clients"));
  }
  step_mse_.reserve(stream.steps());
  step_regret_.reserve(stream.steps());
  assert(options.uniforms.empty() || options.uniforms.size() == stream.clients() * stream.steps());
  if (options.keep_predictions) {
    assert(clients.size() == stream.clients());
    predictions_.assign(stream.clients() * stream.steps(),
                        std::numeric_limits<double>::quiet_NaN());
  }
}

void Simulation::Step() {
  assert(!done());
  for (Totals& totals : totals_) totals = {};
  std::string failure;
  try {
    workers_.Run(CohortsOf(*options_.engine, clients_.size()),
                 [this](std::size_t b, std::size_t worker) { RunBlock(b, worker); });
  } catch (const Error& error) {
    failure = error.marked();
  }
  Totals& all = totals_.front();
  for (const Totals& totals : std::span(totals_).subspan(1)) {
    all.squared_error.Merge(totals.squared_error);
    all.regret.Merge(totals.regret);
    all.fingerprint += totals.fingerprint;
    all.traffic.Add(totals.traffic);
  }
  const auto sums = std::span(sums_);
  const auto squared_error = sums.first<DoubleSum::kWords>();
  const auto regret = sums.subspan<DoubleSum::kWords, DoubleSum::kWords>();
  std::ranges::copy(all.squared_error.words(), squared_error.begin());
  std::ranges::copy(all.regret.words(), regret.begin());
  sums_.back() = static_cast<std::int64_t>(all.traffic.messages);
  server_.Exchange(sums_, failure);
  fingerprint_ += all.fingerprint;
  traffic_.Add(all.traffic);
  const auto participants = static_cast<std::uint64_t>(sums_.back());
  // NaN if nobody took part.
  step_mse_.push_back(DoubleSum::Value(squared_error) / static_cast<double>(participants));
  step_regret_.push_back(algorithm_.experts() == 0
                             ? std::numeric_limits<double>::quiet_NaN()
                             : DoubleSum::Value(regret) / static_cast<double>(stream_.clients()));
  server_.Commit(participants,
                 [this](std::size_t count, const auto& job) { workers_.Run(count, job); });
}

void Simulation::RunBlock(std::size_t b, std::size_t worker) {
  const std::size_t step = this->step();
  const std::size_t cohort = options_.engine->cohort_size();
  const std::size_t first = b * cohort;
  const std::size_t count = std::min(cohort, clients_.size() - first);
  const std::size_t global = clients_.Id(first);
  SampleBlock& samples = samples_[worker];
  ClientRound& round = rounds_[worker];
  stream_.Read(step, global, count, samples);
  if (options_.participation < 1) {
    for (std::size_t k = 0; k < count; ++k) {
      Random random(options_.seed, Purpose::kParticipation, clients_.Id(first + k), step);
      if (random.Uniform() >= options_.participation) samples.present[k] = 0;
    }
  }
  const std::size_t at = step * stream_.clients() + global;
  round.Predict(
      broadcast(), clients_, first, samples.x, samples.present,
      options_.uniforms.empty() ? options_.uniforms : options_.uniforms.subspan(at, count));
  const Updates& updates = round.Learn(samples.y);
  server_.Receive(updates, worker);

  Totals& totals = totals_[worker];
  const ModelShape& shape = algorithm_.shape();
  const std::uint64_t down = 4 * broadcast().model.size() + 8 * broadcast().weights.size();
  for (std::size_t i = 0; i < round.participants().size(); ++i) {
    const std::size_t k = round.participants()[i];
    const double y = samples.y[k];
    const double f = round.predictions()[i];
    if (!std::isfinite(f)) {
      throw Error("the prediction of client " + std::to_string(clients_.Id(first + k)) +
                  " for step " + std::to_string(step) + " is not finite");
    }
    const double error = algorithm_.loss().Predicted(f) - y;
    scores_.Record(first + k, error * error, algorithm_.loss().Value(f, y), round.KernelLosses(i));
    totals.squared_error.Add(error * error);
    totals.fingerprint += Mix(std::bit_cast<std::uint64_t>(f) ^ Mix(at + k));
    if (options_.keep_predictions) predictions_[at + k] = f;
    const std::uint64_t blocks = updates.BlocksOf(i).size();
    const std::uint64_t numbers = blocks * shape.width + shape.losses_per_update;
    totals.traffic.Add({1, numbers, 4 * (numbers + blocks), down, numbers});
  }
  if (algorithm_.experts() == 0) return;
  for (std::size_t k = 0; k < count; ++k) totals.regret.Add(scores_.Regret(first + k));
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
  std::vector<double> saved = {number(step()),
                               number(fingerprint_ >> 32),
                               number(fingerprint_ & UINT32_MAX),
                               number(traffic_.messages),
                               number(traffic_.up_numbers),
                               number(traffic_.up_bytes),
                               number(traffic_.down_bytes),
                               number(traffic_.largest_up)};
  const auto append = [&](const std::vector<double>& part) {
    saved.insert(saved.end(), part.begin(), part.end());
  };
  append(step_mse_);
  append(step_regret_);
  append(server_.Save());
  append(clients_.Save());
  append(scores_.Save());
  return saved;
}

void Simulation::Load(std::span<const double> saved) {
  constexpr std::size_t kHead = 8;
  const auto fail = [] { throw Error("a saved simulation does not fit: it has other settings"); };
  if (saved.size() < kHead) fail();
  const auto whole = [&](std::size_t i) { return static_cast<std::uint64_t>(saved[i]); };
  const std::uint64_t step = whole(0);
  const std::size_t model = server_.Save().size();
  const std::size_t state = clients_.Save().size();
  const std::size_t scores = scores_.Save().size();
  if (saved.size() != kHead + 2 * step + model + state + scores) fail();
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
  server_.Load(step, take(model));
  clients_.Load(take(state));
  scores_.Load(take(scores));
}

}  // namespace polykern
