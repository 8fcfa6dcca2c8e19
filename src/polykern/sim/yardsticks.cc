#include "polykern/sim/yardsticks.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "polykern/core/double_sum.h"
#include "polykern/core/naive_score.h"
#include "polykern/sim/ranks/exchange.h"

namespace polykern {
namespace {

constexpr std::size_t kCohort = 64;

/// Over clients, in any order.
struct NaiveTotals {
  std::int64_t labels = 0;
  std::array<DoubleSum, 4> sums = {};  // mean_error, last_error, sum, square

  void Add(const NaiveScore& one) {
    labels += static_cast<std::int64_t>(one.taken);
    sums[0].Add(one.mean_error);
    sums[1].Add(one.last_error);
    sums[2].Add(one.all_sum - NaiveScore::kMiddle * static_cast<double>(one.taken));
    sums[3].Add(one.square);
  }
  void Merge(const NaiveTotals& other) {
    labels += other.labels;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i].Merge(other.sums[i]);
  }
};

void TakeCohort(const Stream& stream, const Attendance& attendance, std::size_t first,
                std::span<NaiveScore> clients) {
  SampleBlock block;
  for (std::size_t step = 0; step < stream.steps(); ++step) {
    stream.Read(step, first, clients.size(), block);
    for (std::size_t k = 0; k < clients.size(); ++k) {
      if (block.present[k] == 0 || !attendance.Attends(first + k, step)) continue;
      clients[k].Take(block.y[k], stream.ahead());
    }
  }
}

double BestOf(const NaiveScore& one) {
  if (one.taken == 0) return std::numeric_limits<double>::quiet_NaN();
  return one.best();
}

}  // namespace

Yardsticks MeasureYardsticks(const Stream& stream, const Attendance& attendance,
                             const WeightPlan& plan, const ClientRange& own, Workers& workers,
                             Communicator& ranks, const FleetData* device) {
  Yardsticks found;
  found.client.resize(plan.clients.size());
  std::vector<NaiveTotals> totals(workers.size());
  const bool there = device != nullptr && stream.ahead() == 1 && own.count > 0 &&
                     device->MeasureLabels(totals[0].sums, totals[0].labels);
  for (std::size_t i = 0; there && i < plan.clients.size(); ++i) {
    std::vector<NaiveScore> one(1);
    if (plan.clients[i] - own.first >= own.count) continue;
    TakeCohort(stream, attendance, plan.clients[i], one);
    found.client[i] = BestOf(one[0]);
  }
  const std::size_t left = there ? 0 : own.count;
  workers.Run((left + kCohort - 1) / kCohort, [&](std::size_t cohort, std::size_t worker) {
    const std::size_t start = cohort * kCohort;
    std::vector<NaiveScore> clients(std::min(kCohort, own.count - start));
    TakeCohort(stream, attendance, own.first + start, clients);
    for (const NaiveScore& one : clients) totals[worker].Add(one);
    for (std::size_t i = 0; i < plan.clients.size(); ++i) {
      const std::size_t k = plan.clients[i] - own.first - start;  // too large as well if below
      if (k < clients.size()) found.client[i] = BestOf(clients[k]);
    }
  });
  NaiveTotals& all = totals.front();
  for (std::size_t worker = 1; worker < totals.size(); ++worker) all.Merge(totals[worker]);
  std::vector<std::int64_t> words = {all.labels};
  for (DoubleSum& sum : all.sums) words.insert(words.end(), sum.words().begin(), sum.words().end());
  ranks.Sum(words);
  BroadcastFromOwner(ranks, found.client);
  const auto labels = static_cast<double>(std::max<std::int64_t>(words[0], 1));
  const auto mean = [&](std::size_t i) {
    const auto sum = std::span<const std::int64_t>(words).subspan(1 + i * DoubleSum::kWords);
    return DoubleSum::Value(sum.first<DoubleSum::kWords>()) / labels;
  };
  found.running_mean = mean(0);
  found.last_label = mean(1);
  found.variance = std::max(0.0, mean(3) - mean(2) * mean(2));
  return found;
}

}  // namespace polykern
