#include "polykern/federation/sample_buffer.h"

#include <cassert>

namespace polykern {

void SampleBuffer::Add(std::span<const float> x, double y) {
  assert(x.size() == dimension_);
  samples_.push_back({{x.begin(), x.end()}, y});
}

void SampleBuffer::Trim() {
  for (; samples_.size() > kept_; ++first_) samples_.pop_front();
}

void SampleBuffer::Read(std::uint64_t, std::uint64_t from, std::uint64_t to,
                        [[maybe_unused]] std::uint64_t learnt, LearntSamples& samples) const {
  assert(from >= first_ && to <= this->learnt() && learnt == this->learnt());
  for (std::uint64_t number = from; number < to; ++number) {
    const Sample& sample = samples_[number - first_];
    samples.x.insert(samples.x.end(), sample.x.begin(), sample.x.end());
    samples.y.push_back(sample.y);
  }
}

LearntSamples SampleBuffer::Save() const {
  LearntSamples saved;
  if (!samples_.empty()) Read(0, first_, learnt(), learnt(), saved);
  return saved;
}

void SampleBuffer::Load(std::uint64_t first, const LearntSamples& samples) {
  assert(samples.x.size() == samples.y.size() * dimension_);
  samples_.clear();
  first_ = first;
  for (std::size_t i = 0; i < samples.y.size(); ++i) {
    Add(std::span(samples.x).subspan(i * dimension_, dimension_), samples.y[i]);
  }
  Trim();
}

}  // namespace polykern
