#include "polykern/sim/yardsticks.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <limits>

#include "polykern/core/double_sum.h"
#include "polykern/sim/ranks/exchange.h"

namespace polykern {
namespace {

constexpr double kMiddle = 0.5;  // of labels scaled to [0, 1]
constexpr std::size_t kCohort = 64;

/// One client's labels so far, and how well they were guessed.
struct NaiveClient {
  std::uint64_t taken = 0;
  double all_sum = 0;
  std::uint64_t labels = 0;  // that are known when the next is predicted
  double last = kMiddle;
  double sum = 0;     // of them
  double square = 0;  // of distances from the middle, which costs fewer digits than from 0
  double mean_error = 0;
  double last_error = 0;
  std::deque<double> unknown = {};  // labels that came after the next prediction was due

  void Take(double y, std::size_t ahead) {
    const double mean = labels == 0 ? kMiddle : sum / static_cast<double>(labels);
    mean_error += (y - mean) * (y - mean);
    last_error += (y - last) * (y - last);
    square += (y - kMiddle) * (y - kMiddle);
    all_sum += y;
    ++taken;
    unknown.push_back(y);
    if (unknown.size() < ahead) return;
    last = unknown.front();
    sum += last;
    ++labels;
    unknown.pop_front();
  }
};

/// Over clients, in any order.
struct NaiveTotals {
  std::int64_t labels = 0;
  std::array<DoubleSum, 4> sums = {};  // mean_error, last_error, sum, square

  void Add(const NaiveClient& one) {
    labels += static_cast<std::int64_t>(one.taken);
    sums[0].Add(one.mean_error);
    sums[1].Add(one.last_error);
    sums[2].Add(one.all_sum - kMiddle * static_cast<double>(one.taken));
    sums[3].Add(one.square);
  }
  void Merge(const NaiveTotals& other) {
    labels += other.labels;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i].Merge(other.sums[i]);
  }
};

void TakeCohort(const Stream& stream, const Attendance& attendance, std::size_t first,
                std::span<NaiveClient> clients) {
  SampleBlock block;
  for (std::size_t step = 0; step < stream.steps(); ++step) {
    stream.Read(step, first, clients.size(), block);
    for (std::size_t k = 0; k < clients.size(); ++k) {
      if (block.present[k] == 0 || !attendance.Attends(first + k, step)) continue;
      clients[k].Take(block.y[k], stream.ahead());
    }
  }
}

double BestOf(const NaiveClient& one) {
  if (one.taken == 0) return std::numeric_limits<double>::quiet_NaN();
  return std::min(one.mean_error, one.last_error) / static_cast<double>(one.taken);
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
    std::vector<NaiveClient> one(1);
    if (plan.clients[i] - own.first >= own.count) continue;
    TakeCohort(stream, attendance, plan.clients[i], one);
    found.client[i] = BestOf(one[0]);
  }
  const std::size_t left = there ? 0 : own.count;
  workers.Run((left + kCohort - 1) / kCohort, [&](std::size_t cohort, std::size_t worker) {
    const std::size_t start = cohort * kCohort;
    std::vector<NaiveClient> clients(std::min(kCohort, own.count - start));
    TakeCohort(stream, attendance, own.first + start, clients);
    for (const NaiveClient& one : clients) totals[worker].Add(one);
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
