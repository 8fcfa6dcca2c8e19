#include "polykern/results/repetition.h"

#include <algorithm>

#include "polykern/algorithms/registry.h"
#include "polykern/results/kept_fields_internal.h"

namespace polykern {
namespace {

void AddTo(std::vector<double>& sums, const std::vector<double>& values) {
  if (sums.empty()) sums.resize(values.size());
  for (std::size_t i = 0; i < std::min(sums.size(), values.size()); ++i) sums[i] += values[i];
}

/// Every field that is kept, for writing and for reading. People have files with those that are
/// here: a field that is added must be a NewField, whose last argument is what a file without it
/// means.
template <typename Run, typename Kept>
void EachKept(Run& run, Kept& kept) {
  kept.Field("finished", run.finished);
  kept.Field("has_regret", run.has_regret);
  kept.List("numbers", run.mse, run.bound, run.seconds, run.rank_bytes);
  kept.Field("regret", run.regret);
  kept.Field("step_mse", run.step_mse);
  kept.Field("step_regret", run.step_regret);
  kept.Field("trace", run.weights.trace);
  kept.Field("last", run.weights.last);
  kept.List("traffic", run.traffic.messages, run.traffic.up_numbers, run.traffic.up_bytes,
            run.traffic.down_bytes, run.traffic.largest_up);
  kept.Field("unit_losses", run.unit_losses);
  kept.Field("over_bound", run.over_bound);
  kept.Field("fingerprint", run.fingerprint);
  kept.Field("state", run.state);
  kept.NewField("client_mse", run.client_mse, {});
  kept.NewField("intervals", run.intervals, {});
  kept.NewField("step_coverage", run.step_coverage, {});
  kept.NewField("client_coverage", run.client_coverage, {});
  kept.NewField("epsilon_spent", run.epsilon_spent, 0.0);
  kept.NewField("step_epsilon", run.step_epsilon, {});
  kept.Optional("divergence", run.divergence);
}

/// From how many there were, how many held their label, and the sum of their widths.
void SetIntervals(const std::vector<double>& intervals, RowResult& result) {
  if (intervals.size() != 3 || intervals[0] <= 0) return;
  result.coverage = intervals[1] / intervals[0];
  result.interval_width = intervals[2] / intervals[0];
}

void SetTraffic(const Traffic& traffic, RowResult& result) {
  result.samples = traffic.messages;
  result.uplink_numbers = traffic.largest_up;
  const auto messages = static_cast<double>(std::max<std::uint64_t>(traffic.messages, 1));
  result.uplink_numbers_mean = static_cast<double>(traffic.up_numbers) / messages;
  result.uplink_bytes = static_cast<double>(traffic.up_bytes) / messages;
  result.downlink_bytes = static_cast<double>(traffic.down_bytes) / messages;
}

/// There is no mean over all of what some repetitions did not measure.
void ForgetHalfMeasured(const std::vector<const Repetition*>& runs, RowResult& result) {
  const auto some_lack = [&](std::vector<double> Repetition::*field) {
    return std::ranges::any_of(runs, [&](const Repetition* run) { return (run->*field).empty(); });
  };
  if (result.repetitions == 0 || some_lack(&Repetition::client_mse)) result.client_mse.clear();
  if (some_lack(&Repetition::step_coverage)) result.step_coverage.clear();
  if (some_lack(&Repetition::client_coverage)) result.client_coverage.clear();
  if (some_lack(&Repetition::step_epsilon)) result.step_epsilon.clear();
}

}  // namespace

RowResult Summarize(const Row& row, const std::vector<Repetition>& runs, std::size_t clients) {
  RowResult result;
  result.row = row;
  result.kernels = UplinkOf(row.algorithm, row.options).kernels;
  result.features = FeaturesOf(row.algorithm, row.options);
  std::vector<const Repetition*> counted;
  for (const Repetition& run : runs) {
    if (run.divergence && !result.divergence) result.divergence = run.divergence;
    if (run.finished) counted.push_back(&run);
  }
  result.repetitions = counted.size();
  if (counted.empty()) counted.push_back(&runs.front());

  std::vector<double> mse;
  std::vector<double> regret(clients);
  std::vector<double> intervals;
  Traffic traffic;
  for (const Repetition* run : counted) {
    mse.push_back(run->mse);
    result.has_regret |= run->has_regret;
    AddTo(regret, run->regret);
    AddTo(intervals, run->intervals);
    AddTo(result.client_mse, run->client_mse);
    AddTo(result.step_mse, run->step_mse);
    AddTo(result.step_regret, run->step_regret);
    AddTo(result.step_coverage, run->step_coverage);
    AddTo(result.client_coverage, run->client_coverage);
    AddTo(result.step_epsilon, run->step_epsilon);
    AddTo(result.weights.trace, run->weights.trace);
    AddTo(result.weights.last, run->weights.last);
    traffic.Add(run->traffic);
    if (run->bound > 0) result.regret_bound = run->bound;
    result.unit_losses &= run->unit_losses;
    result.over_bound += run->over_bound;
    result.seconds += run->seconds;
    result.rank_bytes += run->rank_bytes;
    result.epsilon_spent = std::max(result.epsilon_spent, run->epsilon_spent);
    result.fingerprint = result.fingerprint * 31 + run->fingerprint;
  }
  const auto count = static_cast<double>(counted.size());
  for (auto* sums : {&regret, &result.client_mse, &result.step_mse, &result.step_regret,
                     &result.step_coverage, &result.client_coverage, &result.step_epsilon,
                     &result.weights.trace, &result.weights.last}) {
    for (double& value : *sums) value /= count;
  }
  result.rank_bytes /= count;
  result.mse = SpreadOf(mse);
  result.regret = SpreadOf(regret);
  if (result.has_regret && result.repetitions == 0 && !result.step_regret.empty()) {
    result.regret = {result.step_regret.back(), 0};
  }
  if (result.has_regret && result.repetitions > 0) result.client_regret = std::move(regret);
  ForgetHalfMeasured(counted, result);
  SetIntervals(intervals, result);
  result.predictions = runs.front().predictions;
  result.ends = runs.front().ends;
  SetTraffic(traffic, result);
  return result;
}

std::string RepetitionText(const Repetition& run) {
  KeptWriter kept;
  EachKept(run, kept);
  return kept.Text();
}

std::optional<Repetition> ParseRepetition(const std::string& text) {
  try {
    KeptReader kept(text);
    Repetition run;
    EachKept(run, kept);
    return run;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace polykern
