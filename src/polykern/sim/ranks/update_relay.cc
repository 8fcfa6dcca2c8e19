#include "polykern/sim/ranks/update_relay.h"

#include <algorithm>
#include <bit>
#include <span>

#include "polykern/core/error.h"
#include "polykern/sim/ranks/exchange.h"

namespace polykern {
namespace {

/// In place of a block's number: what follows is the text of an error.
constexpr std::uint32_t kFailed = UINT32_MAX;

template <typename Model>
auto BlockOf(const ModelShape& shape, Model& model, std::size_t block) {
  return std::span(model).subspan(block * shape.width, shape.width);
}

/// Throws if a rank sent an error. They differ in the kernel's number alone: of the lowest, as of a
/// process that runs alone.
void ThrowLowest(const std::vector<Words>& from) {
  std::string failed;
  for (const Words& words : from) {
    if (words.empty() || words.front() != kFailed) continue;
    const std::string text = TextOf(std::span(words).subspan(1));
    const bool lower = text.size() != failed.size() ? text.size() < failed.size() : text < failed;
    if (failed.empty() || lower) failed = text;
  }
  if (!failed.empty()) throw Error(failed);
}

}  // namespace

UpdateRelay::UpdateRelay(const ModelShape& shape, Coordinator& coordinator, Communicator& ranks,
                         std::size_t lanes)
    : shape_(shape),
      coordinator_(coordinator),
      ranks_(ranks),
      on_the_way_(lanes, std::vector<Words>(ranks.size())),
      to_(ranks.size()),
      whole_(coordinator.broadcast()) {}

void UpdateRelay::Receive(const Updates& updates, std::size_t lane) {
  coordinator_.Check(updates);
  coordinator_.MarkAnswered(updates);
  for (std::size_t b = 0; b < updates.blocks.size(); ++b) {
    Words& to = on_the_way_[lane][OwnerOf(updates.blocks[b])];
    to.push_back(updates.blocks[b]);
    for (const float value : BlockOf(shape_, updates.values, b)) {
      to.push_back(std::bit_cast<std::uint32_t>(value));
    }
  }
}

void UpdateRelay::Deliver() {
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

Words UpdateRelay::OwnChanges() const {
  Words changed;
  for (auto block = static_cast<std::uint32_t>(ranks_.rank()); block < shape_.blocks;
       block += static_cast<std::uint32_t>(ranks_.size())) {
    const auto now = BlockOf(shape_, coordinator_.broadcast().model, block);
    if (std::ranges::equal(now, BlockOf(shape_, whole_.model, block))) continue;
    changed.push_back(block);
    for (const float value : now) changed.push_back(std::bit_cast<std::uint32_t>(value));
  }
  return changed;
}

void UpdateRelay::ShareModel(const std::string& failure) {
  Words own;
  if (failure.empty()) {
    own = OwnChanges();
  } else {
    own = WordsOf(failure);
    own.insert(own.begin(), kFailed);
  }
  ranks_.AllGather(own, from_);
  ThrowLowest(from_);
  for (const Words& words : from_) {
    for (std::size_t at = 0; at < words.size(); at += 1 + shape_.width) {
      const auto to = BlockOf(shape_, whole_.model, words[at]);
      for (std::size_t i = 0; i < shape_.width; ++i) {
        to[i] = std::bit_cast<float>(words[at + 1 + i]);
      }
    }
  }
  whole_.step = coordinator_.broadcast().step;
}

}  // namespace polykern
