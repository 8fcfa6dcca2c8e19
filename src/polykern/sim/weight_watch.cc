#include "polykern/sim/weight_watch.h"

#include <algorithm>
#include <numeric>

namespace polykern {
namespace {

/// At most `most` of `all`, in their order, at even distances.
std::vector<std::size_t> Thin(const std::vector<std::size_t>& all, std::size_t most) {
  const std::size_t count = std::min(all.size(), most);
  std::vector<std::size_t> thin;
  for (std::size_t i = 0; i < count; ++i) {
    thin.push_back(all[(2 * i + 1) * all.size() / (2 * count)]);
  }
  return thin;
}

}  // namespace

WeightPlan::WeightPlan(const Stream& stream) {
  std::vector<std::size_t> all(stream.clients());
  std::iota(all.begin(), all.end(), 0);
  std::ranges::stable_sort(all, {}, [&](std::size_t client) { return stream.SiteOf(client); });
  clients = Thin(all, kMostClients);
  traced = Thin(clients, kMostTraced);
  const std::size_t count = std::min(stream.steps(), kMostSteps);
  for (std::size_t i = 1; i <= count; ++i) steps.push_back(i * stream.steps() / count);
}

WeightWatch::WeightWatch(const Algorithm& algorithm, const WeightPlan& plan)
    : algorithm_(algorithm), plan_(plan), one_(algorithm.experts()) {}

void WeightWatch::Look(std::size_t step, Clients& clients) {
  if (next_ == plan_.steps.size() || step != plan_.steps[next_]) return;
  for (const std::size_t client : plan_.traced) Append(client, step, clients, weights_.trace);
  if (++next_ < plan_.steps.size()) return;
  for (const std::size_t client : plan_.clients) Append(client, step, clients, weights_.last);
}

void WeightWatch::Append(std::size_t client, std::size_t step, Clients& clients,
                         std::vector<double>& to) {
  if (!algorithm_.Weights(clients.State(client), step, one_)) return;
  to.insert(to.end(), one_.begin(), one_.end());
}

}  // namespace polykern
