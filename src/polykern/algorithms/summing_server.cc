#include "polykern/algorithms/summing_server.h"

#include <cassert>
#include <string>

#include "polykern/core/aggregate.h"
#include "polykern/core/error.h"

namespace polykern {
namespace {

class SummingInbox final : public Inbox {
 public:
  explicit SummingInbox(const ModelShape& shape) : sum_(shape.model_size()) {}

  void Add(const Updates& updates) override { sum_.Add(updates.values, updates.blocks); }
  void Clear() override { sum_.Clear(); }

  const ExactSum& sum() const { return sum_; }

 private:
  ExactSum sum_;
};

class SummingServer final : public Server {
 public:
  explicit SummingServer(const ModelShape& shape)
      : shape_(shape), model_(shape.model_size()), total_(shape.model_size()) {
    broadcast_.model.resize(shape.model_size());
  }

  const Broadcast& broadcast() const override { return broadcast_; }
  std::unique_ptr<Inbox> NewInbox() const override {
    return std::make_unique<SummingInbox>(shape_);
  }

  void Commit(std::span<const std::unique_ptr<Inbox>> inboxes,
              std::uint64_t participants) override {
    if (participants > ExactSum::kMaxTerms) {
      throw Error("exact sums hold for fewer than 2^24 clients per step, not " +
                  std::to_string(participants));
    }
    total_.Clear();
    for (const auto& inbox : inboxes) {
      auto& mine = static_cast<SummingInbox&>(*inbox);
      total_.Merge(mine.sum());
      mine.Clear();
    }
    if (participants > 0) {
      const double share = 1 / static_cast<double>(participants);
      for (std::size_t i = 0; i < model_.size(); ++i) model_[i] -= share * total_[i];  // (13)
    }
    Publish(broadcast_.step + 1);
  }

  std::vector<double> Save() const override { return model_; }
  void Load(std::uint64_t step, std::span<const double> saved) override {
    if (saved.size() != model_.size()) {
      throw Error("a saved model of " + std::to_string(saved.size()) + " numbers does not fit " +
                  std::to_string(model_.size()) + ": it was made with other settings");
    }
    model_.assign(saved.begin(), saved.end());
    Publish(step);
  }

 private:
  void Publish(std::uint64_t step) {
    broadcast_.step = step;
    for (std::size_t i = 0; i < model_.size(); ++i) {
      broadcast_.model[i] = static_cast<float>(model_[i]);
    }
  }

  ModelShape shape_;
  std::vector<double> model_;
  ExactSum total_;
  Broadcast broadcast_;
};

}  // namespace

std::unique_ptr<Server> NewSummingServer(const ModelShape& shape) {
  return std::make_unique<SummingServer>(shape);
}

}  // namespace polykern
