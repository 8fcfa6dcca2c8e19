#include "polykern/federation/client.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "polykern/core/error.h"

namespace polykern {

Clients::Clients(const Algorithm& algorithm, std::uint64_t first_id, std::size_t count)
    : first_id_(first_id),
      count_(count),
      state_size_(algorithm.state_size()),
      lasting_(algorithm.lasting_state()),
      state_(count * state_size_) {
  for (std::size_t k = 0; k < count; ++k) algorithm.Start(State(k));
}

void Clients::ForgetFeatures() {
  for (std::size_t k = 0; k < count_; ++k) std::ranges::fill(State(k).subspan(lasting_), 0);
}

void Clients::Load(std::span<const double> saved) {
  if (saved.size() != state_.size()) {
    throw Error("a saved client state of " + std::to_string(saved.size()) +
                " numbers does not fit " + std::to_string(state_.size()) +
                ": it was made with other settings");
  }
  state_.assign(saved.begin(), saved.end());
}

void ClientRound::Predict(const Broadcast& broadcast, Clients& clients, std::size_t first,
                          std::span<const float> x, std::span<const std::uint8_t> present,
                          std::span<const double> uniforms) {
  assert(first + present.size() <= clients.size());
  assert(uniforms.empty() || uniforms.size() == present.size());
  const std::size_t dimension = present.empty() ? 0 : x.size() / present.size();
  participants_.clear();
  ids_.clear();
  x_.clear();
  state_.clear();
  uniforms_.clear();
  for (std::size_t k = 0; k < present.size(); ++k) {
    if (present[k] == 0) continue;
    participants_.push_back(k);
    ids_.push_back(clients.Id(first + k));
    const auto row = x.subspan(k * dimension, dimension);
    x_.insert(x_.end(), row.begin(), row.end());
    state_.push_back(clients.State(first + k).data());
    if (!uniforms.empty()) uniforms_.push_back(uniforms[k]);
  }
  step_->Predict(broadcast, {ids_, x_, state_, uniforms_, history_});
}

const Updates& ClientRound::Learn(std::span<const double> labels, const Answering& answering) {
  labels_.clear();
  for (const std::size_t k : participants_) labels_.push_back(labels[k]);
  return sealing_->Seal(algorithm_->shape(), step_->Learn(labels_, answering), sealed_);
}

std::span<const float> ClientRound::KernelPredictions(std::size_t participant) const {
  const auto all = step_->kernel_predictions();
  const std::size_t kernels = all.size() / participants_.size();
  return all.subspan(participant * kernels, kernels);
}

std::span<const double> ClientRound::KernelLosses(std::size_t participant) const {
  const std::size_t experts = algorithm_->experts();
  return step_->kernel_losses().subspan(participant * experts, experts);
}

}  // namespace polykern
