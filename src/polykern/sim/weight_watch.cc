#include "polykern/sim/weight_watch.h"

#include <algorithm>

namespace polykern {

WeightWatch::WeightWatch(const Algorithm& algorithm, const WeightPlan& plan)
    : algorithm_(algorithm), plan_(plan), one_(algorithm.experts()) {
  const std::vector<double> start(algorithm.state_size());
  has_weights_ = algorithm.Weights(start, 1, one_);
}

std::span<const std::size_t> WeightWatch::Seen(std::size_t step) const {
  if (!has_weights_ || next_ == plan_.steps.size() || step != plan_.steps[next_]) return {};
  return next_ + 1 < plan_.steps.size() ? plan_.traced : plan_.clients;  // which the traced are of
}

void WeightWatch::Look(std::size_t step, Clients& clients) {
  if (next_ == plan_.steps.size() || step != plan_.steps[next_]) return;
  for (const std::size_t client : plan_.traced) Append(client, step, clients, weights_.trace);
  if (++next_ < plan_.steps.size()) return;
  for (const std::size_t client : plan_.clients) Append(client, step, clients, weights_.last);
}

void WeightWatch::Append(std::size_t client, std::size_t step, Clients& clients,
                         std::vector<double>& to) {
  if (!has_weights_) return;
  const std::size_t own = client - clients.Id(0);  // too large as well if it is below
  if (own < clients.size()) {
    algorithm_.Weights(clients.State(own), step, one_);
  } else {
    std::ranges::fill(one_, 0);
  }
  to.insert(to.end(), one_.begin(), one_.end());
}

}  // namespace polykern
