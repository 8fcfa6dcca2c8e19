#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "polykern/algorithms/engine.h"

namespace polykern {

/// The samples that one client has learnt from last, in memory. Of more than `kept` the oldest are
/// forgotten. One thread at a time.
class SampleBuffer final : public SampleHistory {
 public:
  SampleBuffer(std::size_t dimension, std::uint64_t kept) : dimension_(dimension), kept_(kept) {}

  /// Samples so far, also those that are forgotten.
  std::uint64_t learnt() const { return first_ + samples_.size(); }

  void Add(std::span<const float> x, double y);
  /// As if the last one had not been added.
  void RemoveLast() { samples_.pop_back(); }
  /// Forgets those that are too many.
  void Trim();

  /// Only those that are not forgotten. The client does not matter.
  void Read(std::uint64_t client, std::uint64_t from, std::uint64_t to, std::uint64_t learnt,
            LearntSamples& samples) const override;

  /// The number of the oldest sample that is kept, and all of them; and back.
  std::uint64_t first() const { return first_; }
  LearntSamples Save() const;
  void Load(std::uint64_t first, const LearntSamples& samples);

 private:
  struct Sample {
    std::vector<float> x;
    double y = 0;
  };

  std::size_t dimension_;
  std::uint64_t kept_;
  std::uint64_t first_ = 0;
  std::deque<Sample> samples_;
};

}  // namespace polykern
