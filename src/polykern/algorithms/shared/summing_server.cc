#include "polykern/algorithms/shared/summing_server.h"

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
      : shape_(shape),
        width_(shape.width),
        values_(shape.model_size(), UnitOf(shape)),
        sent_(shape.blocks),
        losses_(weights, UnitOf(shape)),
        per_block_(shape.loss_per_block) {}

  void Add(const Updates& updates) override {
    for (const std::uint32_t block : updates.blocks) sent_[block] = 1;
    if (!updates.integers.empty()) return AddIntegers(updates);
    values_.Add(updates.values, updates.blocks);
    if (per_block_) {
      if (losses_.size() > 0) losses_.Add(updates.losses, updates.blocks);
    } else if (losses_.size() > 0) {
      rows_.assign(updates.size(), 0);
      losses_.Add(updates.losses, rows_);
    }
  }
  void Clear() override {
    for (std::size_t block = 0; block < sent_.size(); ++block) {
      if (sent_[block] != 0) std::ranges::fill(values_.units().subspan(block * width_, width_), 0);
    }
    std::ranges::fill(sent_, 0);
    losses_.Clear();
    made_elsewhere_ = false;
  }
  std::vector<std::span<std::int64_t>> Sums() override {
    std::ranges::fill(sent_, 1);  // by another process, for all that is known here
    made_elsewhere_ = true;
    return {values_.units(), losses_.units()};
  }

  /// The caller that asked for the sums makes sure that they fit (sim's CheckClients).
  bool made_elsewhere() const { return made_elsewhere_; }

  /// How many blocks were sent, which, what they add up to, and the losses.
  std::vector<std::int64_t> Pack() const override {
    std::vector<std::int64_t> packed(1);
    for (std::size_t block = 0; block < sent_.size(); ++block) {
      if (sent_[block] != 0) packed.push_back(static_cast<std::int64_t>(block));
    }
    const std::size_t blocks = packed.size() - 1;
    packed[0] = static_cast<std::int64_t>(blocks);
    for (std::size_t i = 1; i <= blocks; ++i) {
      const auto at = static_cast<std::size_t>(packed[i]) * width_;
      const auto sums = values_.units().subspan(at, width_);
      packed.insert(packed.end(), sums.begin(), sums.end());
    }
    packed.insert(packed.end(), losses_.units().begin(), losses_.units().end());
    return packed;
  }
  void Unpack(std::span<const std::int64_t> packed) override {
    const std::uint64_t blocks = packed.empty() ? 0 : static_cast<std::uint64_t>(packed[0]);
    if (packed.empty() || blocks > sent_.size() ||
        packed.size() != 1 + blocks * (1 + width_) + losses_.size()) {
      return Inbox::Unpack(packed);
    }
    const auto which = packed.subspan(1, blocks);
    for (const std::int64_t block : which) {
      if (static_cast<std::uint64_t>(block) >= sent_.size()) return Inbox::Unpack(packed);
    }
    auto from = packed.subspan(1 + blocks);
    for (const std::int64_t block : which) {
      sent_[static_cast<std::size_t>(block)] = 1;
      AddTo(values_.units().subspan(static_cast<std::size_t>(block) * width_, width_), from);
      from = from.subspan(width_);
    }
    AddTo(losses_.units(), from);
  }

  void Merge(const SummingInbox& other) {
    values_.Merge(other.values_);
    for (std::size_t block = 0; block < sent_.size(); ++block) sent_[block] |= other.sent_[block];
    losses_.Merge(other.losses_);
  }

  /// Of a ring of 32 bits: the sums themselves, where only their last bits mattered so far.
  void Unwrap() {
    for (const auto units : {values_.units(), losses_.units()}) {
      for (std::int64_t& sum : units) sum = shape_.ring.Unwrap(static_cast<std::uint64_t>(sum));
    }
  }

  StepSums Of(std::uint64_t participants) const {
    return {values_, losses_, static_cast<double>(participants), sent_};
  }

 private:
  static double UnitOf(const ModelShape& shape) {
    return shape.ring.bits > 0 ? shape.ring.unit : ExactSum::kUnit;
  }
  /// Modulo 2^64: they may be sealed.
  static void AddTo(std::span<std::int64_t> sums, std::span<const std::int64_t> more) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sums[i]) +
                                          static_cast<std::uint64_t>(more[i]));
    }
  }
  void AddIntegers(const Updates& updates) {
    for (std::size_t c = 0; c < updates.size(); ++c) {
      const auto blocks = updates.BlocksOf(c);
      const auto own = std::span(updates.integers).subspan(updates.IntegersBefore(shape_, c));
      values_.AddIntegers(own.first(blocks.size() * width_), blocks);
      if (losses_.size() == 0) continue;
      const auto losses = own.subspan(blocks.size() * width_, shape_.losses_per_update);
      constexpr std::uint32_t kOnlyRow[] = {0};
      losses_.AddIntegers(losses, per_block_ ? blocks : std::span(kOnlyRow));
    }
  }

  ModelShape shape_;
  std::size_t width_;
  ExactSum values_;
  std::vector<std::uint8_t> sent_;  // per block: not 0 if its sums may not be 0
  ExactSum losses_;
  bool made_elsewhere_ = false;
  bool per_block_;                   // a loss for each block sent, not for each weight
  std::vector<std::uint32_t> rows_;  // all 0: losses_ is one row
};

class SummingServer final : public Server {
 public:
  SummingServer(const ModelShape& shape, ServerRule rule)
      : shape_(shape), rule_(std::move(rule)), all_(shape.blocks, 1) {
    assert(rule_.start.empty() || rule_.start.size() == shape.model_size());
    state_.model = std::move(rule_.start);
    state_.model.resize(shape.model_size());
    state_.losses.resize(rule_.weights);
    state_.squares.resize(rule_.squares);
    broadcast_.model.resize(shape.model_size());
    broadcast_.weights.resize(rule_.weights);
    Publish(0, all_);
  }

  const Broadcast& broadcast() const override { return broadcast_; }
  std::unique_ptr<Inbox> NewInbox() const override {
    return std::make_unique<SummingInbox>(shape_, rule_.weights);
  }

  void Commit(std::span<const std::unique_ptr<Inbox>> inboxes, std::uint64_t participants,
              const RunJobs&) override {
    auto& total = static_cast<SummingInbox&>(*inboxes.front());
    if (participants > ExactSum::kMaxTerms && !total.made_elsewhere()) {
      throw Error("exact sums hold for fewer than 2^24 clients per step, not " +
                  std::to_string(participants));
    }
    for (const auto& inbox : inboxes.subspan(1)) {
      auto& mine = static_cast<SummingInbox&>(*inbox);
      total.Merge(mine);
      mine.Clear();
    }
    if (shape_.ring.bits == 32) total.Unwrap();
    const StepSums sums = total.Of(participants);
    if (participants > 0 && rule_.apply) rule_.apply(sums, state_);
    if (participants > 0 && !rule_.apply) SubtractMean(sums, state_);
    Publish(broadcast_.step + 1, rule_.apply ? std::span<const std::uint8_t>(all_) : sums.sent);
    total.Clear();
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
    Publish(step, all_);
  }

 private:
  void Publish(std::uint64_t step, std::span<const std::uint8_t> changed) {
    broadcast_.step = step;
    for (std::size_t block = 0; block < changed.size(); ++block) {
      if (changed[block] == 0) continue;
      const std::size_t at = block * shape_.width;
      RoundToFloat(std::span(state_.model).subspan(at, shape_.width),
                   std::span(broadcast_.model).subspan(at, shape_.width));
    }
    if (rule_.weights > 0) HedgeWeights(state_.losses, rule_.weight_rate, broadcast_.weights);
  }

  ModelShape shape_;
  ServerRule rule_;
  std::vector<std::uint8_t> all_;  // 1 for each block
  ServerState state_;
  Broadcast broadcast_;
};

}  // namespace

void SubtractMean(const StepSums& sums, ServerState& state) {
  if (sums.sent.empty()) return;  // a model of nothing
  const std::size_t width = state.model.size() / sums.sent.size();
  for (std::size_t block = 0; block < sums.sent.size(); ++block) {
    if (sums.sent[block] == 0) continue;
    SubtractScaled(sums.values.units().subspan(block * width, width),
                   sums.values.unit() / sums.participants,
                   std::span(state.model).subspan(block * width, width));
  }
}

std::unique_ptr<Server> NewSummingServer(const ModelShape& shape, ServerRule rule) {
  return std::make_unique<SummingServer>(shape, std::move(rule));
}

}  // namespace polykern
