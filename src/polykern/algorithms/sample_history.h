#pragma once

#include <cstdint>
#include <vector>

namespace polykern {

/// Samples and labels, sample after sample. Reused from call to call.
struct LearntSamples {
  std::vector<float> x;   ///< samples x dimension
  std::vector<double> y;  ///< one label per sample

  void Clear() {
    x.clear();
    y.clear();
  }
};

/// What clients have learnt from so far, the sample of this step included: algorithms that send
/// sums read it again when a kernel's turn comes. A client's samples are numbered from 0 in the
/// order it learnt from them. Whoever runs clients keeps it: an agent in a buffer, the simulator
/// by reading its stream again. Threads may read different clients at the same time.
class SampleHistory {
 public:
  virtual ~SampleHistory() = default;
  /// Appends samples from .. to - 1 of a client that has learnt from `learnt` so far. Those that
  /// Algorithm::kept_samples does not promise to be there are not asked for.
  virtual void Read(std::uint64_t client, std::uint64_t from, std::uint64_t to,
                    std::uint64_t learnt, LearntSamples& samples) const = 0;
};

}  // namespace polykern
