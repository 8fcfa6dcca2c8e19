#include "polykern/algorithms/gram/noisy_server.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>
#include <utility>

#include "polykern/algorithms/gram/gram_inbox.h"
#include "polykern/core/error.h"

namespace polykern {
namespace {

class NoisyGramServer final : public Server {
 public:
  NoisyGramServer(const GramGrid& grid, const NoisyServerRule& rule)
      : grid_(grid), ridge_(rule.ridge), schedule_(grid.NumbersOf(0), rule.schedule) {
    broadcast_.model.resize(grid.model_width());
    Ask();
  }

  const Broadcast& broadcast() const override { return broadcast_; }
  std::unique_ptr<Inbox> NewInbox() const override {
    return std::make_unique<GramInbox>(grid_, broadcast_.turn);
  }
  std::span<const std::string> discarded() const override { return discarded_; }

  void Commit(std::span<const std::unique_ptr<Inbox>> inboxes, std::uint64_t,
              const RunJobs&) override {
    assert(!closing_);
    discarded_.clear();
    ++broadcast_.step;
    closing_ = true;
    auto& all = static_cast<GramInbox&>(*inboxes.front());
    for (const auto& inbox : inboxes.subspan(1)) all.Merge(static_cast<GramInbox&>(*inbox));
    const GramSum came = all.Take(0);
    schedule_.Hold({came.count, came.new_unknowns, came.messages, came.squares});
    held_.Add(came);
    for (const auto& inbox : inboxes) inbox->Clear();
    if (!schedule_.Releases(broadcast_.step)) return;
    schedule_.Released(broadcast_.step);
    releases_.push_back({broadcast_.releases++, 0, held_.messages, held_.count,
                         std::move(held_.sums), std::move(held_.contributions)});
    held_ = {};
  }

  std::span<Release> releases() override { return releases_; }
  void Open() override {
    if (!std::exchange(closing_, false)) return;
    for (const Release& release : releases_) Use(release);
    releases_.clear();
    Ask();
  }

  std::vector<double> Save() const override {
    std::vector<double> saved(NoisySchedule::kSavedSize);
    schedule_.Save(saved);
    saved.push_back(broadcast_.turn.empty() ? 0 : 1);
    saved.push_back(static_cast<double>(broadcast_.releases));
    saved.push_back(samples_);
    saved.push_back(closing_ ? 1 : 0);
    saved.push_back(static_cast<double>(releases_.size()));
    saved.push_back(messages_);
    saved.insert(saved.end(), broadcast_.model.begin(), broadcast_.model.end());
    held_.Save(saved);
    for (const Release& release : releases_) {
      GramSum{release.messages, release.count, 0, 0, release.sums, release.contributions}.Save(
          saved);
    }
    return saved;
  }
  void Load(std::uint64_t step, std::span<const double> saved) override {
    if (saved.size() < kSavedNumbers + broadcast_.model.size()) ThrowMisfit();
    const auto numbers = saved.first(kSavedNumbers);
    const auto model = saved.subspan(kSavedNumbers, broadcast_.model.size());
    saved = saved.subspan(kSavedNumbers + model.size());
    GramSum held = GramSum::Load(saved, grid_.NumbersOf(0));
    const auto closed = static_cast<std::size_t>(numbers[kOwn + 4]);
    std::vector<Release> releases;
    for (std::size_t i = 0; i < closed; ++i) {
      GramSum sum = GramSum::Load(saved, grid_.NumbersOf(0));
      releases.push_back({static_cast<std::uint64_t>(numbers[kOwn + 1]) - closed + i, 0,
                          sum.messages, sum.count, std::move(sum.sums),
                          std::move(sum.contributions)});
    }
    if (!saved.empty()) ThrowMisfit();
    schedule_.Load(numbers);
    broadcast_.step = step;
    broadcast_.turn.clear();
    if (numbers[kOwn] != 0) broadcast_.turn = {0};
    broadcast_.releases = static_cast<std::uint64_t>(numbers[kOwn + 1]);
    samples_ = numbers[kOwn + 2];
    closing_ = numbers[kOwn + 3] != 0;
    messages_ = numbers[kOwn + 5];
    std::ranges::transform(model, broadcast_.model.begin(),
                           [](double value) { return static_cast<float>(value); });
    held_ = std::move(held);
    releases_ = std::move(releases);
  }

 private:
  static constexpr std::size_t kOwn = NoisySchedule::kSavedSize;  // where our own numbers begin
  static constexpr std::size_t kSavedNumbers = kOwn + 6;

  [[noreturn]] static void ThrowMisfit() {
    throw Error("a saved model with noise does not fit: it was made with other settings");
  }

  void Ask() {
    broadcast_.turn.clear();
    if (schedule_.Asks(broadcast_.step)) broadcast_.turn = {0};
  }

  void Discard(const Release& release, const std::string& why) {
    discarded_.push_back("the sums of release " + std::to_string(release.number) + " at step " +
                         std::to_string(broadcast_.step - 1) + ": " + why);
  }

  void Use(const Release& release) {
    if (release.number_taken) --broadcast_.releases;
    if (!release.refusal.empty()) return Discard(release, release.refusal);
    if (release.estimate.size() != grid_.NumbersOf(0)) {
      throw Error("sums without noise were to be released at step " +
                  std::to_string(broadcast_.step - 1) + ", although " + OptionName("epsilon") +
                  " is given: the side that opens them must add it");
    }
    samples_ += static_cast<double>(release.count.samples);
    messages_ += static_cast<double>(release.messages);
    if (!CanBeNoisy(grid_, release.estimate, samples_, messages_, release.deviation)) {
      return Discard(release,
                     "no samples can have these sums, so this release or an earlier one had a "
                     "wrong message: learning has stopped; start with a new store");
    }
    const auto theta = SolveNoisy(grid_, release.estimate, samples_, release.deviation, ridge_);
    const std::size_t size = grid_.features();
    for (std::size_t j = 0; j < size; ++j) {
      broadcast_.model[j] = static_cast<float>(theta[2 * j]);
      broadcast_.model[size + j] = static_cast<float>(theta[2 * j + 1]);
    }
  }

  const GramGrid& grid_;
  double ridge_;
  NoisySchedule schedule_;
  Broadcast broadcast_;
  GramSum held_;        // waits for its release
  double samples_ = 0;  // in what was released
  double messages_ = 0;
  std::vector<Release> releases_;
  bool closing_ = false;  // a step has ended, and Open has not been called
  std::vector<std::string> discarded_;
};

}  // namespace

std::unique_ptr<Server> NewNoisyGramServer(const GramGrid& grid, const NoisyServerRule& rule) {
  return std::make_unique<NoisyGramServer>(grid, rule);
}

}  // namespace polykern
