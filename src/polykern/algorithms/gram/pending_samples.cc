#include "polykern/algorithms/gram/pending_samples.h"

#include <algorithm>
#include <utility>

namespace polykern {

PendingSamples::Range PendingSamples::Next(std::size_t expert) const {
  const double since = since_[expert];
  std::uint64_t begin = static_cast<std::uint64_t>(since < 0 ? -1 - since : since);
  const std::uint64_t all = since < 0 ? Whole(kSentLearnt) : learnt();
  if (all > kept_) begin = std::max(begin, all - kept_);
  return {begin, std::min(all, begin + most_samples_)};
}

void PendingSamples::Send(std::span<const std::uint32_t> experts) {
  for (const std::uint32_t expert : experts) {
    since_[expert] = -1 - static_cast<double>(Next(expert).begin);
  }
  numbers_[kSentLearnt] = numbers_[kLearnt];
  numbers_[kSentUnknowns] = numbers_[kUnknowns];
}

void PendingSamples::Settle(bool counted, std::size_t sizes) {
  if (numbers_[kSentLearnt] == 0) return;
  double covered = 0;  // by a larger size of the same kernel
  for (std::size_t expert = since_.size(); expert-- > 0;) {
    if (since_[expert] < 0) {
      const Range sent = Next(expert);
      since_[expert] = static_cast<double>(counted ? sent.end : sent.begin);
      if (counted) {
        covered = std::max(covered, since_[expert]);
        numbers_[kReach] = std::max(numbers_[kReach], since_[expert]);
      }
    }
    since_[expert] = std::max(since_[expert], covered);
    if (expert % sizes == 0) covered = 0;
  }
  if (counted) {
    numbers_[kToldLearnt] = numbers_[kSentLearnt];
    numbers_[kToldUnknowns] = numbers_[kSentUnknowns];
  }
  numbers_[kSentLearnt] = numbers_[kSentUnknowns] = 0;
}

void PendingSamples::BeginEpoch() {
  for (const auto& [told, sent] :
       {std::pair(kToldLearnt, kSentLearnt), std::pair(kToldUnknowns, kSentUnknowns)}) {
    numbers_[told] = std::max(numbers_[told], numbers_[sent]);
    numbers_[sent] = 0;
  }
  numbers_[kReach] = numbers_[kToldLearnt];
  std::ranges::fill(since_, numbers_[kReach]);
}

}  // namespace polykern
