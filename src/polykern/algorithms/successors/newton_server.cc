#include "polykern/algorithms/successors/newton_server.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "polykern/core/error.h"
#include "polykern/core/kernels.h"
#include "polykern/core/normal_equations.h"
#include "polykern/core/powers.h"
#include "polykern/core/vector_ops.h"

namespace polykern {
namespace {

/// Messages as they came, sorted by kernel when all are there; and what a thread needs that works
/// on a kernel.
class NewtonInbox final : public Inbox {
 public:
  explicit NewtonInbox(const ModelShape& shape) : width_(shape.width), first_(shape.blocks + 1) {}

  void Add(const Updates& updates) override {
    assert(updates.integers.empty());  // their regression could not be solved
    values_.insert(values_.end(), updates.values.begin(), updates.values.end());
    blocks_.insert(blocks_.end(), updates.blocks.begin(), updates.blocks.end());
    for (std::size_t at = lengths_.size(); at < blocks_.size(); ++at) {  // while they are at hand
      lengths_.push_back(std::sqrt(SumOfSquares(std::span(values_).subspan(at * width_, width_))));
    }
  }
  void Clear() override {
    lengths_.clear();
    values_.clear();
    blocks_.clear();
  }

  /// To be called after the last Add, before what follows. Counts, since that takes a room that
  /// does not depend on which kernels they are about.
  void Sort() {
    std::ranges::fill(first_, 0);
    for (const std::uint32_t block : blocks_) ++first_[block + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    next_ = first_;
    order_.resize(blocks_.size());
    for (std::size_t at = 0; at < blocks_.size(); ++at) order_[next_[blocks_[at]]++] = at;
  }
  std::size_t Count(std::size_t kernel) const { return first_[kernel + 1] - first_[kernel]; }
  /// Calls take(message, its length) for all messages about a kernel.
  template <class Take>
  void ForEach(std::size_t kernel, const Take& take) const {
    for (const std::size_t at : std::span(order_).subspan(first_[kernel], Count(kernel))) {
      take(std::span(values_).subspan(at * width_, width_), lengths_[at]);
    }
  }

  std::vector<DoubleLanes> rows;
  std::vector<DoubleLanes> factor;

 private:
  std::size_t width_;
  std::vector<float> values_;
  std::vector<double> lengths_;  // of the messages
  std::vector<std::uint32_t> blocks_;
  std::vector<std::size_t> first_;  // messages order_[first_[i]] .. are about kernel i
  std::vector<std::size_t> next_;
  std::vector<std::size_t> order_;
};

class NewtonServer final : public Server {
 public:
  NewtonServer(const ModelShape& shape, const NewtonRule& rule)
      : shape_(shape),
        rule_(rule),
        kernels_(shape.blocks, Kernel{NormalEquations(shape.width)}),
        model_(shape.model_size()) {
    broadcast_.model.resize(shape.model_size());
  }

  const Broadcast& broadcast() const override { return broadcast_; }
  std::unique_ptr<Inbox> NewInbox() const override { return std::make_unique<NewtonInbox>(shape_); }

  void Commit(std::span<const std::unique_ptr<Inbox>> inboxes, std::uint64_t participants,
              const RunJobs& run) override {
    if (participants > NormalEquations::kMostSamples) {
      throw Error("pof-newton's sums are exact for at most 2^19 clients per step, not " +
                  std::to_string(participants));
    }
    for (const auto& inbox : inboxes) static_cast<NewtonInbox&>(*inbox).Sort();
    run(shape_.blocks, [this, &inboxes](std::size_t i, std::size_t lane) {
      Learn(i, inboxes, static_cast<NewtonInbox&>(*inboxes[lane]));
    });
    for (const auto& inbox : inboxes) inbox->Clear();
    ++broadcast_.step;
  }

  std::vector<double> Save() const override {
    std::vector<double> saved(shape_.blocks * SavedSize());
    auto to = std::span(saved);
    for (std::size_t i = 0; i < shape_.blocks; ++i, to = to.subspan(SavedSize())) {
      const Kernel& kernel = kernels_[i];
      kernel.equations.Save(to.first(EquationsSize()));
      const auto rest = to.subspan(EquationsSize());
      std::ranges::copy(Theta(i), rest.begin());
      rest[shape_.width] = static_cast<double>(kernel.last);
      rest[shape_.width + 1] = kernel.samples;
      rest[shape_.width + 2] = kernel.unsolved;
    }
    return saved;
  }
  void Load(std::uint64_t step, std::span<const double> saved) override {
    if (saved.size() != shape_.blocks * SavedSize()) {
      throw Error("a saved model of " + std::to_string(saved.size()) + " numbers does not fit " +
                  std::to_string(shape_.blocks * SavedSize()) +
                  ": it was made with other settings");
    }
    for (std::size_t i = 0; i < shape_.blocks; ++i) {
      const double last = saved[i * SavedSize() + EquationsSize() + shape_.width];
      if (last >= 0 && last <= static_cast<double>(step)) continue;
      throw Error("a saved model does not fit step " + std::to_string(step) + ": kernel " +
                  std::to_string(i) + " has samples of step " + std::to_string(last));
    }
    for (std::size_t i = 0; i < shape_.blocks; ++i, saved = saved.subspan(SavedSize())) {
      if (saved.empty()) break;
      Kernel& kernel = kernels_[i];
      kernel.equations.Load(saved.first(EquationsSize()));
      const auto rest = saved.subspan(EquationsSize());
      std::copy_n(rest.begin(), shape_.width, Theta(i).begin());
      kernel.last = static_cast<std::uint64_t>(rest[shape_.width]);
      kernel.samples = rest[shape_.width + 1];
      kernel.unsolved = rest[shape_.width + 2];
    }
    RoundToFloat(model_, broadcast_.model);
    broadcast_.step = step;
  }

 private:
  struct Kernel {
    NormalEquations equations;
    std::uint64_t last = 0;  // the step after the last one that brought samples
    double samples = 0;      // those in the equations, each as much as is left of it
    double unsolved = 0;     // those of them that theta does not know
  };

  std::size_t EquationsSize() const { return NormalEquations::SavedSize(shape_.width); }
  std::size_t SavedSize() const { return EquationsSize() + shape_.width + 3; }
  std::span<double> Theta(std::size_t i) {
    return std::span(model_).subspan(i * shape_.width, shape_.width);
  }
  std::span<const double> Theta(std::size_t i) const {
    return std::span(model_).subspan(i * shape_.width, shape_.width);
  }

  void Learn(std::size_t i, std::span<const std::unique_ptr<Inbox>> inboxes, NewtonInbox& lane) {
    std::size_t count = 0;
    for (const auto& inbox : inboxes) count += static_cast<NewtonInbox&>(*inbox).Count(i);
    if (count == 0) return;
    const std::size_t row_size = NormalEquations::RowLanes(shape_.width);
    // Never shrinks: a vector that does would grow again and again by just what is missing.
    if (lane.rows.size() < count * row_size) lane.rows.resize(count * row_size);
    const auto all = std::span(lane.rows).first(count * row_size);
    auto rows = all;
    for (const auto& inbox : inboxes) {
      static_cast<NewtonInbox&>(*inbox).ForEach(
          i, [&](std::span<const float> message, double length) {
            NormalEquations::Round(message, 1 / length, LabelOf(length), rows.first(row_size));
            rows = rows.subspan(row_size);
          });
    }
    Kernel& kernel = kernels_[i];
    // Steps without samples leave theta as it is, so forgetting them can wait till now.
    const double keep = WholePower(rule_.forgetting, broadcast_.step + 1 - kernel.last);
    kernel.last = broadcast_.step + 1;
    kernel.samples = keep * kernel.samples + static_cast<double>(count);
    kernel.unsolved = keep * kernel.unsolved + static_cast<double>(count);
    if (kernel.unsolved < rule_.refresh * kernel.samples) {
      kernel.equations.Add(all, keep);
      return;
    }
    kernel.unsolved = 0;
    if (!kernel.equations.AddAndSolve(all, keep, rule_.ridge, lane.factor, Theta(i))) {
      throw Error("the regression of kernel " + std::to_string(i) + " cannot be solved at step " +
                  std::to_string(broadcast_.step) + ": raise " + OptionName("ridge"));
    }
    RoundToFloat(Theta(i), std::span(broadcast_.model).subspan(i * shape_.width, shape_.width));
  }

  ModelShape shape_;
  NewtonRule rule_;
  std::vector<Kernel> kernels_;
  std::vector<double> model_;  // blocks x width
  Broadcast broadcast_;
};

}  // namespace

double LengthOf(double label) {
  return label + std::sqrt(1 + label * label);
}

double LabelOf(double length) {
  return (length - 1 / length) / 2;
}

std::unique_ptr<Server> NewNewtonServer(const ModelShape& shape, const NewtonRule& rule) {
  return std::make_unique<NewtonServer>(shape, rule);
}

}  // namespace polykern
