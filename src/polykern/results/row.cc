#include "polykern/results/row.h"

#include <algorithm>
#include <numeric>
#include <ranges>

#include "polykern/data/stream.h"

namespace polykern {
namespace {

/// At most `most` of `all`, in their order, at even distances.
template <class All>
std::vector<std::size_t> Thin(const All& all, std::size_t most) {
  const std::size_t count = std::min<std::size_t>(all.size(), most);
  std::vector<std::size_t> thin;
  for (std::size_t i = 0; i < count; ++i) {
    thin.push_back(all[(2 * i + 1) * all.size() / (2 * count)]);
  }
  return thin;
}

}  // namespace

std::optional<double> RowResult::skill() const {
  if (divergence || !naive || !(naive->best() > 0)) return std::nullopt;
  return 1 - mse.mean / naive->best();
}

std::optional<double> RowResult::r2() const {
  if (divergence || !naive || !(naive->variance > 0)) return std::nullopt;
  return 1 - mse.mean / naive->variance;
}

WeightPlan::WeightPlan(const Stream& stream) {
  // Where a client would stand if all were sorted by site, without a list of all.
  std::vector<std::size_t> place_of(stream.site_names().size() + 1);
  for (std::size_t k = 0; k < stream.clients(); ++k) ++place_of[stream.SiteOf(k) + 1];
  std::partial_sum(place_of.begin(), place_of.end(), place_of.begin());
  const auto wanted = Thin(std::views::iota(std::size_t{0}, stream.clients()), kMostClients);
  clients.resize(wanted.size());
  for (std::size_t k = 0; k < stream.clients(); ++k) {
    const std::size_t place = place_of[stream.SiteOf(k)]++;
    const auto found = std::ranges::lower_bound(wanted, place);
    if (found != wanted.end() && *found == place) clients[found - wanted.begin()] = k;
  }
  traced = Thin(clients, kMostTraced);
  const std::size_t count = std::min(stream.steps(), kMostSteps);
  for (std::size_t i = 1; i <= count; ++i) steps.push_back(i * stream.steps() / count);
}

}  // namespace polykern
