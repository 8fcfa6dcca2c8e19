#pragma once

#include <cstddef>
#include <cstdint>

#include "polykern/algorithms/engine.h"
#include "polykern/data/stream.h"

namespace polykern {

/// Who takes part in which step of a simulation: a client with a sample, with some probability.
struct Attendance {
  std::uint64_t seed = 0;
  double participation = 1;

  /// Is a client with a sample there?
  bool Attends(std::uint64_t client, std::size_t step) const;
};

/// What simulated clients have learnt from, read from their stream again: no client keeps a sample.
/// One per thread. The stream must outlive it.
class StreamHistory final : public SampleHistory {
 public:
  StreamHistory(const Stream& stream, const Attendance& attendance)
      : stream_(stream), attendance_(attendance) {}

  /// The step that the clients are in.
  void Begin(std::size_t step) { step_ = step; }

  void Read(std::uint64_t client, std::uint64_t from, std::uint64_t to, std::uint64_t learnt,
            LearntSamples& samples) const override;

 private:
  const Stream& stream_;
  Attendance attendance_;
  std::size_t step_ = 0;
  mutable SampleBlock block_;
};

}  // namespace polykern
