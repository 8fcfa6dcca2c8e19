#include "polykern/algorithms/gram/gram_division.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "polykern/core/error.h"

namespace polykern {
namespace {

constexpr double kMostClientNumber = 1e15;

std::uint64_t TakeCount(std::span<const double>& saved) {
  if (saved.empty() || !(saved[0] >= 0 && saved[0] < kMostClientNumber)) {
    throw Error("saved groups do not fit: they were made with other settings");
  }
  const auto count = static_cast<std::uint64_t>(saved[0]);
  saved = saved.subspan(1);
  return count;
}

std::vector<std::uint64_t> TakeClients(std::span<const double>& saved) {
  std::vector<std::uint64_t> clients;
  for (std::uint64_t left = TakeCount(saved); left > 0; --left) clients.push_back(TakeCount(saved));
  return clients;
}

}  // namespace

std::size_t GramDivision::GroupOf(std::uint64_t client) const {
  return on() && std::ranges::binary_search(second_, client) ? 1 : 0;
}

void GramDivision::Spoilt(std::vector<std::uint64_t> clients, std::size_t least) {
  std::ranges::sort(clients);
  clients.erase(std::ranges::unique(clients).begin(), clients.end());
  if (!on()) {
    clients_ = clients;
    suspects_ = std::move(clients);
  } else {
    std::vector<std::uint64_t> both;
    std::ranges::set_intersection(suspects_, clients, std::back_inserter(both));
    suspects_ = both.empty() ? std::move(clients) : std::move(both);  // empty: there are several
  }
  if (clients_.size() < 2 * least) return;
  left_ = kReleases;
  Divide();
}

/// Half of the suspects in each group, and as many clients.
void GramDivision::Divide() {
  second_.assign(suspects_.begin(),
                 suspects_.begin() + static_cast<std::ptrdiff_t>(suspects_.size() / 2));
  for (const std::uint64_t client : clients_) {
    if (second_.size() >= clients_.size() / 2) break;
    if (!std::ranges::binary_search(suspects_, client)) second_.push_back(client);
  }
  std::ranges::sort(second_);
}

void GramDivision::Passed() {
  if (on() && --left_ == 0) *this = {};
}

void GramDivision::Save(std::vector<double>& saved) const {
  saved.push_back(static_cast<double>(left_));
  for (const auto* each : {&clients_, &suspects_, &second_}) {
    saved.push_back(static_cast<double>(each->size()));
    for (const std::uint64_t client : *each) saved.push_back(static_cast<double>(client));
  }
}

GramDivision GramDivision::Load(std::span<const double>& saved) {
  GramDivision division;
  division.left_ = TakeCount(saved);
  for (auto* each : {&division.clients_, &division.suspects_, &division.second_}) {
    *each = TakeClients(saved);
  }
  return division;
}

}  // namespace polykern
