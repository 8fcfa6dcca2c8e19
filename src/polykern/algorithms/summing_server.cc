#include "polykern/algorithms/summing_server.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "polykern/core/error.h"
#include "polykern/core/experts.h"
#include "polykern/core/vector_ops.h"

namespace polykern {
namespace {

class SummingInbox final : public Inbox {
 public:
  SummingInbox(const ModelShape& shape, std::size_t weights)
      : values_(shape.model_size()),
        losses_(weights),
        per_block_(shape.losses_per_update == shape.blocks_per_update) {}

  void Add(const Updates& updates) override {
    values_.Add(updates.values, updates.blocks);
    if (per_block_) {
      if (losses_.size() > 0) losses_.Add(updates.losses, updates.blocks);
    } else if (losses_.size() > 0) {
      rows_.assign(updates.size(), 0);
      losses_.Add(updates.losses, rows_);
    }
  }
  void Clear() override {
    values_.Clear();
    losses_.Clear();
  }
  std::vector<std::span<std::int64_t>> Sums() override {
    return {values_.units(), losses_.units()};
  }

  void Merge(const SummingInbox& other) {
    values_.Merge(other.values_);
    losses_.Merge(other.losses_);
  }

  const ExactSum& values() const { return values_; }
  const ExactSum& losses() const { return losses_; }

 private:
  ExactSum values_;
  ExactSum losses_;
  bool per_block_;                   // a loss for each block sent, not for each weight
  std::vector<std::uint32_t> rows_;  // all 0: losses_ is one row
};

class SummingServer final : public Server {
 public:
  SummingServer(const ModelShape& shape, ServerRule rule) : shape_(shape), rule_(std::move(rule)) {
    assert(rule_.start.empty() || rule_.start.size() == shape.model_size());
    state_.model = std::move(rule_.start);
    state_.model.resize(shape.model_size());
    state_.losses.resize(rule_.weights);
    state_.squares.resize(rule_.squares);
    broadcast_.model.resize(shape.model_size());
    broadcast_.weights.resize(rule_.weights);
    Publish(0);
  }

  const Broadcast& broadcast() const override { return broadcast_; }
  std::unique_ptr<Inbox> NewInbox() const override {
    return std::make_unique<SummingInbox>(shape_, rule_.weights);
  }

  void Commit(std::span<const std::unique_ptr<Inbox>> inboxes, std::uint64_t participants,
              const RunJobs&) override {
    if (participants > ExactSum::kMaxTerms) {
      throw Error("exact sums hold for fewer than 2^24 clients per step, not " +
                  std::to_string(participants));
    }
    auto& total = static_cast<SummingInbox&>(*inboxes.front());
    for (const auto& inbox : inboxes.subspan(1)) {
      auto& mine = static_cast<SummingInbox&>(*inbox);
      total.Merge(mine);
      mine.Clear();
    }
    if (participants > 0) {
      rule_.apply({total.values(), total.losses(), static_cast<double>(participants)}, state_);
    }
    total.Clear();
    Publish(broadcast_.step + 1);
  }

  std::vector<double> Save() const override {
    std::vector<double> saved = state_.model;
    for (const auto* part : {&state_.losses, &state_.squares}) {
      saved.insert(saved.end(), part->begin(), part->end());
    }
    return saved;
  }
  void Load(std::uint64_t step, std::span<const double> saved) override {
    const std::size_t size = state_.model.size() + state_.losses.size() + state_.squares.size();
    if (saved.size() != size) {
      throw Error("a saved model of " + std::to_string(saved.size()) + " numbers does not fit " +
                  std::to_string(size) + ": it was made with other settings");
    }
    for (auto* part : {&state_.model, &state_.losses, &state_.squares}) {
      std::ranges::copy(saved.first(part->size()), part->begin());
      saved = saved.subspan(part->size());
    }
    Publish(step);
  }

 private:
  void Publish(std::uint64_t step) {
    broadcast_.step = step;
    RoundToFloat(state_.model, broadcast_.model);
    if (rule_.weights > 0) HedgeWeights(state_.losses, rule_.weight_rate, broadcast_.weights);
  }

  ModelShape shape_;
  ServerRule rule_;
  ServerState state_;
  Broadcast broadcast_;
};

}  // namespace

void SubtractMean(const StepSums& sums, ServerState& state) {
  SubtractScaled(sums.values.units(), ExactSum::kUnit / sums.participants, state.model);
}

std::unique_ptr<Server> NewSummingServer(const ModelShape& shape, ServerRule rule) {
  return std::make_unique<SummingServer>(shape, std::move(rule));
}

}  // namespace polykern
