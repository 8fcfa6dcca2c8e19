#pragma once

#include <cstddef>
#include <vector>

#include "polykern/core/kernels.h"
#include "polykern/core/line_allocator.h"

namespace polykern {

/// Sixteen floats, the widest vector, aligned for it.
struct alignas(64) FloatLanes {
  float lane[16] = {};
};

/// The frequencies of a bank in the order in which the vectors of a CPU read them: what
/// EvaluateKernels works on. Takes about as much memory as the bank, which it does not refer to.
/// Immutable after construction: any number of threads may use it.
class PackedKernels {
 public:
  /// A vector has this many floats: kRun neighbouring features of each of kGroup neighbouring
  /// kernels.
  static constexpr std::size_t kLanes = 16;
  static constexpr std::size_t kRun = 4;
  static constexpr std::size_t kGroup = 4;

  explicit PackedKernels(const KernelBank& bank);

  std::size_t kernels() const { return kernels_; }            ///< N
  std::size_t features() const { return features_; }          ///< D
  std::size_t dimension() const { return dimension_; }        ///< d
  std::size_t feature_size() const { return 2 * features_; }  ///< F = 2D, the length of z_i

  /// Groups of kernels, and the vectors that hold the features of one; what is beyond the last
  /// kernel or feature is 0.
  std::size_t groups() const { return (kernels_ + kGroup - 1) / kGroup; }
  std::size_t row_vectors() const { return (features_ + kRun - 1) / kRun; }

  /// The frequencies of a group: dimension x row_vectors(), so that the columns where a sample is 0
  /// can be left out. Not of a shared draw.
  const FloatLanes* Group(std::size_t group) const {
    return frequencies_.data() + group * dimension_ * row_vectors();
  }

  /// True for a bank of Draw::kShared. Its one draw is dimension x shared_vectors(), of features
  /// only; kernel i has Scale(i) times as much.
  bool shared() const { return !scales_.empty(); }
  const FloatLanes* Shared() const { return frequencies_.data(); }
  std::size_t shared_vectors() const { return (features_ + kLanes - 1) / kLanes; }
  float Scale(std::size_t kernel) const { return scales_[kernel]; }

  /// As KernelBank::LongestFrequency.
  float LongestFrequency(std::size_t kernel) const { return longest_[kernel]; }

 private:
  std::size_t kernels_;
  std::size_t features_;
  std::size_t dimension_;
  std::vector<FloatLanes, LineAllocator<FloatLanes>>
      frequencies_;  // of all groups, or of the shared draw
  std::vector<float> scales_;
  std::vector<float> longest_;
};

}  // namespace polykern
