#include "polykern/algorithms/gram/gram_inbox.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "polykern/core/error.h"

namespace polykern {
namespace {

template <class Integer>
void AddModulo(std::span<const Integer> added, std::span<std::int64_t> sums) {
  for (std::size_t i = 0; i < added.size(); ++i) {
    sums[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sums[i]) +
                                        static_cast<std::uint64_t>(added[i]));
  }
}

void SaveWhole(std::uint64_t whole, std::vector<double>& saved) {
  saved.push_back(static_cast<double>(whole >> 32U));
  saved.push_back(static_cast<double>(whole & UINT32_MAX));
}

[[noreturn]] void ThrowMisfit() {
  throw Error("saved sums do not fit: they were made with other settings");
}

/// Eight bytes of a nonce as a number, and back.
std::uint64_t HalfOf(const MaskNonce& nonce, std::size_t half) {
  std::uint64_t number = 0;
  std::memcpy(&number, nonce.data() + half * sizeof(number), sizeof(number));
  return number;
}

void SetHalf(std::uint64_t number, std::size_t half, MaskNonce& nonce) {
  std::memcpy(nonce.data() + half * sizeof(number), &number, sizeof(number));
}

constexpr std::size_t kContributionNumbers = 8;

std::array<std::uint64_t, kContributionNumbers> NumbersIn(const Contribution& each) {
  return {each.client,         each.step,         each.releases,         each.count.samples,
          each.count.unknowns, each.new_unknowns, HalfOf(each.nonce, 0), HalfOf(each.nonce, 1)};
}

/// From the first ones.
template <class Integer>
Contribution ContributionOf(std::span<const Integer> numbers) {
  Contribution each;
  std::size_t at = 0;
  for (std::uint64_t* const number : {&each.client, &each.step, &each.releases, &each.count.samples,
                                      &each.count.unknowns, &each.new_unknowns}) {
    *number = static_cast<std::uint64_t>(numbers[at++]);
  }
  for (const std::size_t half : {0U, 1U}) {
    SetHalf(static_cast<std::uint64_t>(numbers[at++]), half, each.nonce);
  }
  return each;
}

std::uint64_t LoadWhole(std::span<const double>& saved) {
  if (saved.size() < 2) ThrowMisfit();
  const std::uint64_t high = static_cast<std::uint32_t>(saved[0]);
  const std::uint64_t low = static_cast<std::uint32_t>(saved[1]);
  saved = saved.subspan(2);
  return high << 32U | low;
}

}  // namespace

void GramSum::Add(const GramSum& other) {
  if (other.messages == 0) return;
  messages += other.messages;
  count.samples += other.count.samples;
  count.unknowns += other.count.unknowns;
  new_unknowns += other.new_unknowns;
  squares += other.squares;
  sums.resize(other.sums.size());
  AddModulo(std::span<const std::int64_t>(other.sums), sums);
  contributions.insert(contributions.end(), other.contributions.begin(), other.contributions.end());
}

void GramSum::Save(std::vector<double>& saved) const {
  for (const std::uint64_t each : {messages, count.samples, count.unknowns, new_unknowns, squares,
                                   static_cast<std::uint64_t>(contributions.size())}) {
    SaveWhole(each, saved);
  }
  for (const std::int64_t sum : sums) SaveWhole(static_cast<std::uint64_t>(sum), saved);
  for (const Contribution& each : contributions) {
    for (const std::uint64_t number : NumbersIn(each)) SaveWhole(number, saved);
  }
}

GramSum GramSum::Load(std::span<const double>& saved, std::size_t numbers) {
  GramSum sum;
  sum.messages = LoadWhole(saved);
  sum.count.samples = LoadWhole(saved);
  sum.count.unknowns = LoadWhole(saved);
  sum.new_unknowns = LoadWhole(saved);
  sum.squares = LoadWhole(saved);
  const std::uint64_t contributions = LoadWhole(saved);
  if (sum.messages == 0) return sum;
  for (std::size_t i = 0; i < numbers; ++i) {
    sum.sums.push_back(static_cast<std::int64_t>(LoadWhole(saved)));
  }
  for (std::uint64_t i = 0; i < contributions; ++i) {
    std::array<std::uint64_t, kContributionNumbers> parts{};
    for (std::uint64_t& number : parts) number = LoadWhole(saved);
    sum.contributions.push_back(ContributionOf(std::span<const std::uint64_t>(parts)));
  }
  return sum;
}

GramInbox::GramInbox(const GramGrid& grid, const std::vector<std::uint32_t>& turn,
                     const GramDivision* division)
    : grid_(grid),
      turn_(turn),
      division_(division),
      sums_(2 * grid.experts()),
      contributions_(2 * grid.experts()),
      counts_(kCounts * 2 * grid.experts() + 2) {}

void GramInbox::Add(const Updates& updates) {
  auto from = std::span<const std::uint64_t>(updates.integers);
  for (std::size_t c = 0; c < updates.size(); ++c) {
    const std::size_t group = division_ ? division_->GroupOf(updates.clients[c]) : 0;
    for (std::size_t at = updates.first[c]; at < updates.first[c + 1]; ++at) {
      const std::size_t expert = updates.blocks[at];
      const std::size_t slot = Slot(expert, group);
      AddModulo(from.first(grid_.NumbersOf(expert)), Room(slot));
      from = from.subspan(grid_.NumbersOf(expert));
      const SampleCount count = {updates.samples[at], updates.unknowns[at]};
      ++CountOf(slot, kMessages);
      CountOf(slot, kSamples) += static_cast<std::int64_t>(count.samples);
      CountOf(slot, kUnknowns) += static_cast<std::int64_t>(count.unknowns);
      const std::uint64_t new_unknowns = updates.new_unknowns[at];
      CountOf(slot, kNewUnknowns) += static_cast<std::int64_t>(new_unknowns);
      CountOf(slot, kSquares) += static_cast<std::int64_t>(count.samples * count.samples);
      if (updates.nonces.empty()) continue;
      contributions_[slot].push_back({updates.clients[c], updates.step, updates.releases, count,
                                      new_unknowns, updates.nonces[c]});
    }
  }
  for (const SampleCount& fresh : updates.fresh) {
    counts_[counts_.size() - 2] += static_cast<std::int64_t>(fresh.samples);
    counts_.back() += static_cast<std::int64_t>(fresh.unknowns);
  }
}

void GramInbox::Clear() {
  for (auto& sums : sums_) std::ranges::fill(sums, 0);
  for (auto& contributions : contributions_) contributions.clear();
  std::ranges::fill(counts_, 0);
}

std::vector<std::span<std::int64_t>> GramInbox::Sums() {
  std::vector<std::span<std::int64_t>> all = {counts_};
  for (const std::uint32_t expert : turn_) all.push_back(Room(Slot(expert, 0)));
  return all;
}

/// The counts; then of each slot that has messages, upwards: where it is, its sums, how many
/// contributions, and these.
std::vector<std::int64_t> GramInbox::Pack() const {
  std::vector<std::int64_t> packed = counts_;
  for (std::size_t slot = 0; slot < sums_.size(); ++slot) {
    if (counts_[kCounts * slot + kMessages] == 0) continue;
    packed.push_back(static_cast<std::int64_t>(slot));
    packed.insert(packed.end(), sums_[slot].begin(), sums_[slot].end());
    packed.push_back(static_cast<std::int64_t>(contributions_[slot].size()));
    for (const Contribution& each : contributions_[slot]) {
      for (const std::uint64_t number : NumbersIn(each)) {
        packed.push_back(static_cast<std::int64_t>(number));
      }
    }
  }
  return packed;
}

void GramInbox::Unpack(std::span<const std::int64_t> packed) {
  // All of it is looked at before any of it is added.
  struct Part {
    std::size_t slot;
    std::span<const std::int64_t> sums;
    std::span<const std::int64_t> contributions;
  };
  std::vector<Part> parts;
  if (packed.size() < counts_.size()) return Inbox::Unpack(packed);
  for (auto rest = packed.subspan(counts_.size()); !rest.empty();) {
    const auto slot = static_cast<std::uint64_t>(rest[0]);
    if (slot >= sums_.size()) return Inbox::Unpack(packed);
    const std::size_t numbers = grid_.NumbersOf(slot / 2);
    if (rest.size() < numbers + 2) return Inbox::Unpack(packed);
    const auto count = static_cast<std::uint64_t>(rest[1 + numbers]);
    const auto behind = rest.subspan(numbers + 2);
    if (count > behind.size() / kContributionNumbers) return Inbox::Unpack(packed);
    parts.push_back({slot, rest.subspan(1, numbers), behind.first(count * kContributionNumbers)});
    rest = behind.subspan(count * kContributionNumbers);
  }
  AddModulo(packed.first(counts_.size()), counts_);
  for (Part& part : parts) {
    AddModulo(part.sums, Room(part.slot));
    for (auto& from = part.contributions; !from.empty();
         from = from.subspan(kContributionNumbers)) {
      contributions_[part.slot].push_back(ContributionOf(from));
    }
  }
}

void GramInbox::Merge(GramInbox& other) {
  AddModulo(std::span<const std::int64_t>(other.counts_), counts_);
  for (std::size_t slot = 0; slot < sums_.size(); ++slot) {
    auto& more = other.contributions_[slot];
    contributions_[slot].insert(contributions_[slot].end(), more.begin(), more.end());
    if (other.sums_[slot].empty()) continue;
    AddModulo(std::span<const std::int64_t>(other.sums_[slot]), Room(slot));
  }
}

/// Masked messages in the order of their clients, whichever came first.
GramSum GramInbox::Take(std::size_t expert, std::size_t group) {
  const std::size_t slot = Slot(expert, group);
  if (CountOf(slot, kMessages) == 0) return {};
  std::ranges::sort(contributions_[slot], {},
                    [](const Contribution& each) { return std::pair(each.client, each.step); });
  return {static_cast<std::uint64_t>(CountOf(slot, kMessages)),
          {static_cast<std::uint64_t>(CountOf(slot, kSamples)),
           static_cast<std::uint64_t>(CountOf(slot, kUnknowns))},
          static_cast<std::uint64_t>(CountOf(slot, kNewUnknowns)),
          static_cast<std::uint64_t>(CountOf(slot, kSquares)),
          std::exchange(sums_[slot], {}),
          std::exchange(contributions_[slot], {})};
}

SampleCount GramInbox::fresh() const {
  return {static_cast<std::uint64_t>(counts_[counts_.size() - 2]),
          static_cast<std::uint64_t>(counts_.back())};
}

std::span<std::int64_t> GramInbox::Room(std::size_t slot) {
  sums_[slot].resize(grid_.NumbersOf(slot / 2));
  return sums_[slot];
}

}  // namespace polykern
