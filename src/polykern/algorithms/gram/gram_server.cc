#include "polykern/algorithms/gram/gram_server.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/core/normal_equations.h"
#include "polykern/core/powers.h"
#include "polykern/core/vector_ops.h"

namespace polykern {
namespace {

/// Sums of all experts, and beside each of them its messages and samples; then those of the step.
class GramInbox final : public Inbox {
 public:
  explicit GramInbox(const GramGrid& grid)
      : sums_(grid.experts()), counts_(2 * grid.experts() + 2) {
    for (std::size_t e = 0; e < grid.experts(); ++e) numbers_.push_back(grid.NumbersOf(e));
  }

  void Add(const Updates& updates) override {
    auto from = std::span<const std::uint64_t>(updates.integers);
    for (std::size_t at = 0; at < updates.blocks.size(); ++at) {
      const std::size_t expert = updates.blocks[at];
      AddModulo(from.first(numbers_[expert]), Room(expert));
      from = from.subspan(numbers_[expert]);
      ++counts_[2 * expert];
      counts_[2 * expert + 1] += static_cast<std::int64_t>(updates.samples[at]);
    }
    for (const SampleCount& fresh : updates.fresh) {
      counts_[counts_.size() - 2] += static_cast<std::int64_t>(fresh.samples);
      counts_.back() += static_cast<std::int64_t>(fresh.unknowns);
    }
  }
  void Clear() override {
    for (auto& sums : sums_) std::ranges::fill(sums, 0);
    std::ranges::fill(counts_, 0);
  }
  std::vector<std::span<std::int64_t>> Sums() override {
    std::vector<std::span<std::int64_t>> all = {counts_};
    for (const std::uint32_t expert : *turn) all.push_back(Room(expert));
    return all;
  }

  void Merge(const GramInbox& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    for (std::size_t e = 0; e < sums_.size(); ++e) {
      if (!other.sums_[e].empty()) AddModulo(other.sums_[e], Room(e));
    }
  }

  std::int64_t Messages(std::size_t expert) const { return counts_[2 * expert]; }
  std::int64_t Samples(std::size_t expert) const { return counts_[2 * expert + 1]; }
  std::span<const std::int64_t> Of(std::size_t expert) { return Room(expert); }
  SampleCount fresh() const {
    return {static_cast<std::uint64_t>(counts_[counts_.size() - 2]),
            static_cast<std::uint64_t>(counts_.back())};
  }

  const std::vector<std::uint32_t>* turn = nullptr;  ///< of the open step

 private:
  template <class Integer>
  static void AddModulo(std::span<const Integer> added, std::span<std::int64_t> sums) {
    for (std::size_t i = 0; i < added.size(); ++i) {
      sums[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sums[i]) +
                                          static_cast<std::uint64_t>(added[i]));
    }
  }
  static void AddModulo(const std::vector<std::int64_t>& added, std::span<std::int64_t> sums) {
    AddModulo(std::span<const std::int64_t>(added), sums);
  }
  std::span<std::int64_t> Room(std::size_t expert) {
    sums_[expert].resize(numbers_[expert]);
    return sums_[expert];
  }

  std::vector<std::size_t> numbers_;
  std::vector<std::vector<std::int64_t>> sums_;  // per expert; empty until somebody sends them
  std::vector<std::int64_t> counts_;
};

class GramServer final : public Server {
 public:
  GramServer(const GramGrid& grid, const GramServerRule& rule)
      : grid_(grid),
        rule_(rule),
        schedule_(grid, rule.schedule, rule.expected),
        experts_(grid.experts()) {
    broadcast_.model.resize(grid.kernels() * grid.model_width());
    for (std::size_t e = 0; e < experts_.size(); ++e) {
      experts_[e].equations.resize(GramGrid::EquationsSize(grid.WidthOf(e)));
    }
    broadcast_.turn = schedule_.NextTurn();
  }

  const Broadcast& broadcast() const override { return broadcast_; }
  std::unique_ptr<Inbox> NewInbox() const override {
    auto inbox = std::make_unique<GramInbox>(grid_);
    inbox->turn = &broadcast_.turn;
    return inbox;
  }
  std::span<const std::string> discarded() const override { return discarded_; }

  void Commit(std::span<const std::unique_ptr<Inbox>> inboxes, std::uint64_t participants,
              const RunJobs&) override {
    discarded_.clear();
    ++broadcast_.step;
    if (participants == 0) return;  // the same turn again
    auto& all = static_cast<GramInbox&>(*inboxes.front());
    for (const auto& inbox : inboxes.subspan(1)) all.Merge(static_cast<GramInbox&>(*inbox));
    for (std::size_t e = 0; e < experts_.size(); ++e) Hold(e, all);
    schedule_.Learnt(all.fresh());
    for (std::size_t e = 0; e < experts_.size(); ++e) {
      if (schedule_.Release(e)) Release(e);
    }
    for (const auto& inbox : inboxes) inbox->Clear();
    broadcast_.turn = schedule_.NextTurn();
  }

  std::vector<double> Save() const override {
    std::vector<double> saved(SavedSize());
    auto to = std::span(saved);
    schedule_.Save(to.first(GramSchedule::SavedSize(grid_)));
    to = to.subspan(GramSchedule::SavedSize(grid_));
    for (const std::uint32_t expert : broadcast_.turn) to[expert] = 1;
    to = to.subspan(experts_.size());
    for (const Expert& expert : experts_) {
      to[0] = static_cast<double>(expert.last);
      std::ranges::copy(expert.equations, to.begin() + 1);
      to = to.subspan(1 + expert.equations.size());
    }
    std::ranges::copy(broadcast_.model, to.begin());
    AppendHeld(saved);
    return saved;
  }
  void Load(std::uint64_t step, std::span<const double> saved) override {
    if (saved.size() < SavedSize() || !HeldFits(saved.subspan(SavedSize()))) {
      throw Error("a saved model of " + std::to_string(saved.size()) + " numbers does not fit " +
                  std::to_string(SavedSize()) + ": it was made with other settings");
    }
    const auto held = saved.subspan(SavedSize());
    const auto schedule = saved.first(GramSchedule::SavedSize(grid_));
    saved = saved.subspan(schedule.size(), SavedSize() - schedule.size());
    broadcast_.turn.clear();
    for (std::uint32_t e = 0; e < experts_.size(); ++e) {
      if (saved[e] != 0) broadcast_.turn.push_back(e);
    }
    schedule_.Load(schedule, broadcast_.turn);
    saved = saved.subspan(experts_.size());
    for (Expert& expert : experts_) {
      expert.last = static_cast<std::uint64_t>(saved[0]);
      std::ranges::copy(saved.subspan(1, expert.equations.size()), expert.equations.begin());
      saved = saved.subspan(1 + expert.equations.size());
    }
    std::ranges::transform(saved, broadcast_.model.begin(),
                           [](double value) { return static_cast<float>(value); });
    LoadHeld(held);
    broadcast_.step = step;
  }

 private:
  struct Expert {
    std::uint64_t last = 0;         // the step after the last one that brought samples
    std::vector<double> equations;  // A and b
    double messages = 0;            // whose sums are held
    std::vector<double> held;       // these sums; empty: none
  };

  /// But for what is held.
  std::size_t SavedSize() const {
    std::size_t size = GramSchedule::SavedSize(grid_) + experts_.size() + broadcast_.model.size();
    for (const Expert& expert : experts_) size += 1 + expert.equations.size();
    return size;
  }

  /// What the schedule holds, of each expert the messages, and the sums of those that have any.
  void AppendHeld(std::vector<double>& saved) const {
    if (!schedule_.AnyHeld()) return;
    saved.resize(saved.size() + GramSchedule::HeldSize(grid_));
    schedule_.SaveHeld(std::span(saved).last(GramSchedule::HeldSize(grid_)));
    for (const Expert& expert : experts_) saved.push_back(expert.messages);
    for (const Expert& expert : experts_) {
      saved.insert(saved.end(), expert.held.begin(), expert.held.end());
    }
  }
  bool HeldFits(std::span<const double> saved) const {
    if (saved.empty()) return true;
    std::size_t size = GramSchedule::HeldSize(grid_) + experts_.size();
    if (saved.size() < size) return false;
    const auto messages = saved.subspan(GramSchedule::HeldSize(grid_), experts_.size());
    for (std::size_t e = 0; e < experts_.size(); ++e) {
      if (messages[e] > 0) size += grid_.NumbersOf(e);
    }
    return saved.size() == size;
  }
  void LoadHeld(std::span<const double> saved) {
    for (Expert& expert : experts_) {
      expert.messages = 0;
      expert.held.clear();
    }
    if (saved.empty()) return;
    schedule_.LoadHeld(saved.first(GramSchedule::HeldSize(grid_)));
    const auto messages = saved.subspan(GramSchedule::HeldSize(grid_), experts_.size());
    saved = saved.subspan(GramSchedule::HeldSize(grid_) + messages.size());
    for (std::size_t e = 0; e < experts_.size(); ++e) {
      if (messages[e] == 0) continue;
      const auto held = saved.first(grid_.NumbersOf(e));
      experts_[e].messages = messages[e];
      experts_[e].held.assign(held.begin(), held.end());
      saved = saved.subspan(held.size());
    }
  }

  /// What the step brought of an expert joins what is held of it.
  void Hold(std::size_t e, GramInbox& all) {
    if (all.Messages(e) == 0) return;
    Expert& expert = experts_[e];
    const auto sums = all.Of(e);
    expert.held.resize(sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      expert.held[i] += static_cast<double>(sums[i]) * GramGrid::kUnit;
    }
    expert.messages += static_cast<double>(all.Messages(e));
    schedule_.Hold(e, static_cast<double>(all.Samples(e)));
  }
  /// What is held of an expert and of the smaller sizes of its kernel.
  void Drop(std::size_t e) {
    for (;; --e) {
      experts_[e].messages = 0;
      experts_[e].held.clear();
      if (!grid_.HasSmaller(e)) return;
    }
  }

  void Release(std::size_t e) {
    const std::size_t width = grid_.WidthOf(e);
    const std::size_t size = GramGrid::EquationsSize(width);
    Expert& expert = experts_[e];
    if (!CanBe(width, expert.held, schedule_.Held(e))) {
      discarded_.push_back(
          "the sums of expert " + std::to_string(e) + " at step " +
          std::to_string(broadcast_.step - 1) + ": no samples have such sums, so one of " +
          std::to_string(static_cast<std::uint64_t>(expert.messages)) + " messages has wrong ones");
      schedule_.Discarded(e);
      Drop(e);
      return;
    }
    const double keep = WholePower(rule_.forgetting, broadcast_.step - expert.last);
    expert.last = broadcast_.step;
    for (std::size_t i = 0; i < size; ++i) {
      expert.equations[i] = keep * expert.equations[i] + expert.held[i];
    }
    const auto weights = std::span(expert.held).subspan(size + 1);
    for (double& weight : weights) weight /= expert.messages;
    schedule_.Released(e, weights);
    Drop(e);
    Solve(e);
    for (std::size_t smaller = e; grid_.HasSmaller(smaller); --smaller) {
      if (schedule_.Samples(smaller - 1) > schedule_.Samples(e)) continue;
      TakeLeading(expert, width, smaller - 1);
      Solve(smaller - 1);
    }
  }

  /// Is [A b; b' sum y^2] of such sums positive semidefinite but for double's rounding?
  bool CanBe(std::size_t width, std::span<const double> sums, double samples) {
    const std::size_t size = GramGrid::EquationsSize(width);
    bordered_.clear();
    for (std::size_t i = 0; i < width; ++i) {  // rows of the larger matrix end with b
      const std::size_t row = GramGrid::RowStart(width, i);
      for (std::size_t j = 0; j <= width - i; ++j) bordered_.push_back(sums[row + j]);
      bordered_.push_back(0);
    }
    bordered_.push_back(sums[size]);
    bordered_.push_back(0);
    NormalEquations equations(width + 1);
    equations.Load(bordered_);
    theta_.resize(width + 1);
    constexpr double kRounding = 1e-12;  // of F^2 sums of products in double, generously
    return equations.AddAndSolve({}, 1, kRounding * (1 + samples), scratch_, theta_);
  }

  /// The equations of a smaller size are in those of a larger one.
  void TakeLeading(const Expert& larger, std::size_t larger_width, std::size_t e) {
    const std::size_t width = grid_.WidthOf(e);
    Expert& expert = experts_[e];
    expert.last = larger.last;
    for (std::size_t i = 0; i < width; ++i) {
      const double* from = larger.equations.data() + GramGrid::RowStart(larger_width, i);
      double* to = expert.equations.data() + GramGrid::RowStart(width, i);
      std::copy_n(from, width - i, to);
      to[width - i] = from[larger_width - i];
    }
  }

  /// Features of the bank are sqrt(D / its own) times as long as those of a kernel with D: that
  /// leaves the predictions as they are and shrinks the ridge.
  void Solve(std::size_t e) {
    const std::size_t size = grid_.SizeOf(e);
    NormalEquations equations(2 * size);
    equations.Load(experts_[e].equations);
    theta_.resize(2 * size);
    const double ridge =
        rule_.ridge * static_cast<double>(size) / static_cast<double>(grid_.features());
    if (!equations.AddAndSolve({}, 1, ridge, scratch_, theta_)) {
      throw Error("the regression of expert " + std::to_string(e) + " cannot be solved at step " +
                  std::to_string(broadcast_.step - 1) + ": raise " + OptionName("ridge"));
    }
    float* const theta = broadcast_.model.data() + grid_.ThetaStart(e);
    for (std::size_t j = 0; j < size; ++j) {
      theta[j] = static_cast<float>(theta_[2 * j]);
      theta[size + j] = static_cast<float>(theta_[2 * j + 1]);
    }
  }

  const GramGrid& grid_;
  GramServerRule rule_;
  GramSchedule schedule_;
  std::vector<Expert> experts_;
  Broadcast broadcast_;
  std::vector<std::string> discarded_;
  std::vector<double> bordered_;  // CanBe's matrix
  std::vector<double> theta_;
  std::vector<DoubleLanes> scratch_;
};

}  // namespace

std::unique_ptr<Server> NewGramServer(const GramGrid& grid, const GramServerRule& rule) {
  return std::make_unique<GramServer>(grid, rule);
}

}  // namespace polykern
