#include "polykern/algorithms/gram/gram_server.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>
#include <utility>

#include "polykern/algorithms/gram/gram_inbox.h"
#include "polykern/core/error.h"
#include "polykern/core/normal_equations.h"
#include "polykern/core/powers.h"
#include "polykern/core/vector_ops.h"

namespace polykern {
namespace {

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
    return std::make_unique<GramInbox>(grid_, broadcast_.turn, &division_);
  }
  std::span<const std::string> discarded() const override { return discarded_; }

  std::vector<double> MeanWeights() const override {
    const auto weights = schedule_.Weights();
    return {weights.begin(), weights.end()};
  }

  void Commit(std::span<const std::unique_ptr<Inbox>> inboxes, std::uint64_t participants,
              const RunJobs&) override {
    assert(!closing_);
    discarded_.clear();
    ++broadcast_.step;
    if (participants == 0) return;  // the same turn again
    closing_ = true;
    auto& all = static_cast<GramInbox&>(*inboxes.front());
    for (const auto& inbox : inboxes.subspan(1)) all.Merge(static_cast<GramInbox&>(*inbox));
    for (std::size_t e = 0; e < experts_.size(); ++e) {
      const GramSum first = all.Take(e, 0);
      const GramSum second = all.Take(e, 1);
      GramSum both = first;
      both.Add(second);
      schedule_.Hold(e, {both.count, both.new_unknowns, both.messages, both.squares});
      experts_[e].held.Add(first);
      experts_[e].second.Add(second);
    }
    schedule_.Learnt(all.fresh());
    for (const std::size_t e : grid_.SmallestFirst()) {
      if (!CanStand(e)) continue;
      if (schedule_.Close(e, experts_[e].second.messages > 0 ? 2 : 1)) Close(e);
    }
    for (const auto& inbox : inboxes) inbox->Clear();
  }

  std::span<Release> releases() override { return releases_; }
  void Open() override {
    if (!std::exchange(closing_, false)) return;
    for (const Release& release : releases_) Use(release);
    releases_.clear();
    broadcast_.turn = schedule_.NextTurn();
  }

  void BeginEpoch() override {
    schedule_.BeginEpoch();
    for (Expert& expert : experts_) expert.held = expert.second = {};
    releases_.clear();
    closing_ = false;
    broadcast_.releases = 0;
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
    to = std::span(std::ranges::copy(broadcast_.model, to.begin()).out, to.end());
    to[0] = static_cast<double>(broadcast_.releases);
    AppendHeld(saved);
    return saved;
  }
  void Load(std::uint64_t step, std::span<const double> saved) override {
    if (saved.size() < SavedSize()) {
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
    std::ranges::transform(saved.first(broadcast_.model.size()), broadcast_.model.begin(),
                           [](double value) { return static_cast<float>(value); });
    broadcast_.releases = static_cast<std::uint64_t>(saved.back());
    LoadHeld(held);
    broadcast_.step = step;
  }

 private:
  struct Expert {
    std::uint64_t last = 0;         // the step after the last one that brought samples
    std::vector<double> equations;  // A and b
    GramSum held;                   // waits for more
    GramSum second;                 // likewise, of the second group
  };

  [[noreturn]] static void ThrowMisfit() {
    throw Error("a saved model does not fit: it was made with other settings");
  }

  /// But for what is held.
  std::size_t SavedSize() const {
    std::size_t size = GramSchedule::SavedSize(grid_) + experts_.size() + broadcast_.model.size();
    for (const Expert& expert : experts_) size += 1 + expert.equations.size();
    return size + 1;  // how many sums were released
  }

  // In place of an expert's number.
  static constexpr double kNoMore = -1;
  static constexpr double kMore = -2;

  /// What the schedule holds, and of each expert the sums; what epochs and groups have left, if
  /// there were any; then the step that is not open yet, if it is not: its releases. Nothing, if
  /// there is nothing of it.
  void AppendHeld(std::vector<double>& saved) const {
    const auto missed = schedule_.Missed();
    const bool more =
        division_.on() || std::ranges::any_of(missed, [](double each) { return each != 0; });
    if (!schedule_.AnyHeld() && !closing_ && !more) return;
    saved.resize(saved.size() + GramSchedule::HeldSize(grid_));
    schedule_.SaveHeld(std::span(saved).last(GramSchedule::HeldSize(grid_)));
    for (const Expert& expert : experts_) expert.held.Save(saved);
    if (more) {
      saved.push_back(kMore);
      saved.insert(saved.end(), missed.begin(), missed.end());
      division_.Save(saved);
      for (const Expert& expert : experts_) expert.second.Save(saved);
    }
    if (!closing_) return;
    for (const Release& release : releases_) {
      saved.push_back(static_cast<double>(release.kind));
      GramSum{release.messages, release.count, 0, 0, release.sums, release.contributions}.Save(
          saved);
    }
    saved.push_back(kNoMore);
  }
  void LoadHeld(std::span<const double> saved) {
    for (Expert& expert : experts_) expert.held = expert.second = {};
    releases_.clear();
    division_ = {};
    closing_ = false;
    if (saved.empty()) return;
    if (saved.size() < GramSchedule::HeldSize(grid_)) ThrowMisfit();
    schedule_.LoadHeld(saved.first(GramSchedule::HeldSize(grid_)));
    saved = saved.subspan(GramSchedule::HeldSize(grid_));
    for (std::size_t e = 0; e < experts_.size(); ++e) {
      experts_[e].held = GramSum::Load(saved, grid_.NumbersOf(e));
    }
    if (!saved.empty() && saved.front() == kMore) {
      if (saved.size() <= experts_.size()) ThrowMisfit();
      schedule_.SetMissed(saved.subspan(1, experts_.size()));
      saved = saved.subspan(1 + experts_.size());
      division_ = GramDivision::Load(saved);
      for (std::size_t e = 0; e < experts_.size(); ++e) {
        experts_[e].second = GramSum::Load(saved, grid_.NumbersOf(e));
      }
    }
    if (saved.empty()) return;
    closing_ = true;
    while (saved.front() >= 0) {
      const auto kind = static_cast<std::uint32_t>(saved.front());
      if (kind >= experts_.size()) ThrowMisfit();
      saved = saved.subspan(1);
      GramSum sum = GramSum::Load(saved, grid_.NumbersOf(kind));
      releases_.push_back(
          {0, kind, sum.messages, sum.count, std::move(sum.sums), std::move(sum.contributions)});
      if (saved.empty()) ThrowMisfit();
    }
    for (std::size_t i = 0; i < releases_.size(); ++i) {
      releases_[i].number = broadcast_.releases - releases_.size() + i;
    }
  }

  /// Where two groups have sent, each sum must be good for release by itself. When there are
  /// no groups, or one has nothing, they are one sum: no one has seen either.
  bool CanStand(std::size_t e) {
    GramSum& held = experts_[e].held;
    GramSum& second = experts_[e].second;
    if (held.messages == 0 || !division_.on()) held.Add(std::exchange(second, {}));
    return second.messages == 0 || (schedule_.MayStand(e, held.contributions) &&
                                    schedule_.MayStand(e, second.contributions));
  }

  /// What is held of an expert, and of the smaller sizes of its kernel, waits no longer. The group
  /// with more news is first: then each is paid for when it is released.
  void Close(std::size_t e) {
    GramSum* groups[] = {&experts_[e].held, &experts_[e].second};
    if (groups[0]->new_unknowns < groups[1]->new_unknowns) std::swap(groups[0], groups[1]);
    for (GramSum* const held : groups) {
      if (held->messages == 0) continue;
      releases_.push_back({broadcast_.releases++, static_cast<std::uint32_t>(e), held->messages,
                           held->count, std::move(held->sums), std::move(held->contributions)});
    }
    for (;; --e) {
      experts_[e].held = experts_[e].second = {};
      if (!grid_.HasSmaller(e)) return;
    }
  }

  void Discard(const Release& release, const std::string& why) {
    discarded_.push_back("the sums of expert " + std::to_string(release.kind) + " at step " +
                         std::to_string(broadcast_.step - 1) + ": " + why);
  }

  static std::string NumbersIn(const std::vector<std::uint64_t>& clients) {
    constexpr std::size_t kMostNamed = 20;
    std::string text;
    for (std::size_t i = 0; i < std::min(clients.size(), kMostNamed); ++i) {
      text += (i == 0 ? "" : ", ") + std::to_string(clients[i]);
    }
    if (clients.size() > kMostNamed) {
      text += " and " + std::to_string(clients.size() - kMostNamed) + " more";
    }
    return text;
  }

  /// Who was in it is all that can be said of a masked sum.
  std::string Suspect(const Release& release) {
    if (!rule_.divides || release.contributions.empty()) return {};
    std::vector<std::uint64_t> clients;
    for (const Contribution& each : release.contributions) clients.push_back(each.client);
    const bool divided = division_.on();
    division_.Spoilt(std::move(clients), static_cast<std::size_t>(rule_.schedule.least_clients));
    if (!division_.on()) return "; there are too few clients to divide the next sums";
    return std::string(divided ? "; clients in this and all bad sums before it: "
                               : "; the next sums are divided in two; clients in this one: ") +
           NumbersIn(division_.suspects());
  }

  void Use(const Release& release) {
    const std::size_t e = release.kind;
    const std::size_t width = grid_.WidthOf(e);
    const std::size_t size = GramGrid::EquationsSize(width);
    Expert& expert = experts_[e];
    const auto samples = static_cast<double>(release.count.samples);
    sums_.resize(release.sums.size());
    std::ranges::transform(release.sums, sums_.begin(), [](std::int64_t sum) {
      return static_cast<double>(sum) * GramGrid::kUnit;
    });
    if (!release.refusal.empty()) {
      std::uint64_t new_unknowns = 0;
      for (const Contribution& each : release.contributions) new_unknowns += each.new_unknowns;
      schedule_.Refused(e, static_cast<double>(new_unknowns));
      return Discard(release, release.refusal);
    }
    const char* fault = FaultOfSum(grid_, release);
    constexpr double kRounding = 1e-12;  // of F^2 sums of products in double, generously
    if (!fault && !CanBeProducts(width, std::span(sums_).first(size), sums_[size],
                                 kRounding * (1 + samples))) {
      fault = "no samples have such products";
    }
    if (fault) {
      return Discard(release, "no samples can have these sums, so one of " +
                                  std::to_string(release.messages) +
                                  " messages is wrong: " + fault + Suspect(release));
    }
    division_.Passed();
    const double keep = WholePower(rule_.forgetting, broadcast_.step - expert.last);
    expert.last = broadcast_.step;
    for (std::size_t i = 0; i < size; ++i) {
      expert.equations[i] = keep * expert.equations[i] + sums_[i];
    }
    const auto weights = std::span(sums_).subspan(size + 1);
    for (double& weight : weights) weight /= static_cast<double>(release.messages);
    schedule_.Opened(e, samples, weights);
    Solve(e);
    for (std::size_t smaller = e; grid_.HasSmaller(smaller); --smaller) {
      if (schedule_.Samples(smaller - 1) > schedule_.Samples(e)) continue;
      TakeLeading(expert, width, smaller - 1);
      Solve(smaller - 1);
    }
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
  GramDivision division_;
  std::vector<Release> releases_;
  bool closing_ = false;  // a step has ended, and Open has not been called
  std::vector<std::string> discarded_;
  std::vector<double> sums_;  // Use's
  std::vector<double> theta_;
  std::vector<DoubleLanes> scratch_;
};

}  // namespace

std::unique_ptr<Server> NewGramServer(const GramGrid& grid, const GramServerRule& rule) {
  return std::make_unique<GramServer>(grid, rule);
}

}  // namespace polykern
