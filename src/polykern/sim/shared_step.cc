#include "polykern/sim/shared_step.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "polykern/core/error.h"

namespace polykern {
namespace {

/// In place of a block's number: what follows is the text of an error.
constexpr std::uint32_t kFailed = UINT32_MAX;

Words WordsOf(const std::string& text) {
  return {text.begin(), text.end()};
}

std::string TextOf(std::span<const std::uint32_t> words) {
  std::string text;
  for (const std::uint32_t word : words) text += static_cast<char>(word);
  return text;
}

}  // namespace

SharedStep::SharedStep(const Algorithm& algorithm, ClientRange own, Communicator& ranks,
                       std::size_t lanes)
    : shape_(algorithm.shape()),
      ranks_(ranks),
      coordinator_(algorithm, own.count, lanes, own.first),
      sums_(!coordinator_.Sums().empty()) {
  if (alone() || sums_) return;
  on_the_way_.assign(lanes, std::vector<Words>(ranks.size()));
  whole_ = coordinator_.broadcast();
}

void SharedStep::Receive(const Updates& updates, std::size_t lane) {
  if (alone() || sums_) return coordinator_.Receive(updates, lane);
  coordinator_.Check(updates);
  coordinator_.MarkAnswered(updates);
  for (std::size_t b = 0; b < updates.blocks.size(); ++b) {
    Words& to = on_the_way_[lane][OwnerOf(updates.blocks[b])];
    to.push_back(updates.blocks[b]);
    const auto values = std::span(updates.values).subspan(b * shape_.width, shape_.width);
    for (const float value : values) to.push_back(std::bit_cast<std::uint32_t>(value));
  }
}

void SharedStep::Exchange(std::span<std::int64_t> totals, const std::string& failure) {
  if (!alone()) SumUpdates(totals, !failure.empty());
  if (alone() ? failure.empty() : numbers_.back() == 0) {
    if (!alone() && !sums_) SendUpdates();
    return;
  }
  ranks_.AllGather(WordsOf(failure), from_);
  throw Error(
      TextOf(*std::ranges::find_if(from_, [](const Words& text) { return !text.empty(); })));
}

void SharedStep::SumUpdates(std::span<std::int64_t> totals, bool failed) {
  auto parts = sums_ ? coordinator_.Sums() : std::vector<std::span<std::int64_t>>();
  parts.push_back(totals);
  numbers_.clear();
  for (const auto& part : parts) numbers_.insert(numbers_.end(), part.begin(), part.end());
  numbers_.push_back(failed ? 1 : 0);
  ranks_.Sum(numbers_);
  auto from = numbers_.begin();
  for (const auto& part : parts) {
    std::copy_n(from, part.size(), part.begin());
    from += static_cast<std::ptrdiff_t>(part.size());
  }
}

void SharedStep::SendUpdates() {
  to_.resize(ranks_.size());
  for (Words& words : to_) words.clear();
  for (auto& lane : on_the_way_) {
    for (std::size_t r = 0; r < lane.size(); ++r) {
      to_[r].insert(to_[r].end(), lane[r].begin(), lane[r].end());
      lane[r].clear();
    }
  }
  ranks_.Exchange(to_, from_);
  for (const Words& words : from_) {
    updates_.Clear();
    for (std::size_t at = 0; at < words.size(); at += 1 + shape_.width) {
      updates_.blocks.push_back(words[at]);
      for (std::size_t i = 1; i <= shape_.width; ++i) {
        updates_.values.push_back(std::bit_cast<float>(words[at + i]));
      }
    }
    coordinator_.Relay(updates_);
  }
}

void SharedStep::Commit(std::uint64_t participants, const RunJobs& run) {
  if (alone() || sums_) return coordinator_.Commit(participants, run);
  std::string failure;
  try {
    coordinator_.Commit(participants, run);
  } catch (const Error& error) {
    failure = error.marked();
  }
  ShareModel(failure);
}

void SharedStep::ShareModel(const std::string& failure) {
  const std::vector<float>& own = coordinator_.broadcast().model;
  const auto block_of = [this](auto& model, std::size_t block) {
    return std::span(model).subspan(block * shape_.width, shape_.width);
  };
  Words changed;
  if (!failure.empty()) {
    changed = WordsOf(failure);
    changed.insert(changed.begin(), kFailed);
  }
  for (auto block = static_cast<std::uint32_t>(ranks_.rank());
       failure.empty() && block < shape_.blocks;
       block += static_cast<std::uint32_t>(ranks_.size())) {
    const auto now = block_of(own, block);
    if (std::ranges::equal(now, block_of(whole_.model, block))) continue;
    changed.push_back(block);
    for (const float value : now) changed.push_back(std::bit_cast<std::uint32_t>(value));
  }
  ranks_.AllGather(changed, from_);
  std::string failed;
  for (const Words& words : from_) {
    if (words.empty() || words.front() != kFailed) continue;
    // They differ in the kernel's number alone: of the lowest, as of a process that runs alone.
    const std::string text = TextOf(std::span(words).subspan(1));
    const bool lower = text.size() != failed.size() ? text.size() < failed.size() : text < failed;
    if (failed.empty() || lower) failed = text;
  }
  if (!failed.empty()) throw Error(failed);
  for (const Words& words : from_) {
    for (std::size_t at = 0; at < words.size(); at += 1 + shape_.width) {
      const auto to = block_of(whole_.model, words[at]);
      for (std::size_t i = 0; i < shape_.width; ++i)
        to[i] = std::bit_cast<float>(words[at + 1 + i]);
    }
  }
  whole_.step = coordinator_.broadcast().step;
}

}  // namespace polykern
