#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polykern/core/kernels.h"

namespace polykern {

/// How the frequencies of one kernel relate to each other.
enum class Draw {
  kIndependent,  ///< D independent draws
  kOrthogonal,   ///< directions orthogonal in blocks of d: less variance for isotropic kernels
  kShared,       ///< Gaussian kernels: one draw for all, divided by each kernel's length, so that
                 ///< a projection serves every kernel
};

/// Sixteen floats, the widest vector, aligned for it.
struct alignas(64) FloatLanes {
  float lane[16] = {};
};

/// N kernels with D frequencies each in d dimensions: everything that server and clients must
/// share to speak of the same features. They share it by seed; the numbers are never sent.
/// Immutable after construction: any number of threads may use it.
class KernelBank {
 public:
  /// Vectors of packed numbers have this many floats: kRun neighbouring features of each of kGroup
  /// neighbouring kernels.
  static constexpr std::size_t kLanes = 16;
  static constexpr std::size_t kRun = 4;
  static constexpr std::size_t kGroup = 4;

  /// Draws the frequencies. The same arguments give the same bits on every IEEE machine.
  /// Throws Error if a kernel of the dictionary cannot have orthogonal features or a shared draw.
  KernelBank(std::span<const Kernel> dictionary, std::size_t dimension, std::size_t features,
             std::uint64_t seed, Draw draw = Draw::kIndependent);

  /// Takes frequencies as they are: kernels x features x dimension, all sizes positive.
  KernelBank(std::vector<float> frequencies, std::size_t kernels, std::size_t features,
             std::size_t dimension);

  std::size_t kernels() const { return kernels_; }            ///< N
  std::size_t features() const { return features_; }          ///< D
  std::size_t dimension() const { return dimension_; }        ///< d
  std::size_t feature_size() const { return 2 * features_; }  ///< F = 2D, the length of z_i

  /// rho_i1 .. rho_iD of kernel i, one after the other.
  std::span<const float> Frequencies(std::size_t kernel) const {
    return {frequencies_.data() + kernel * features_ * dimension_, features_ * dimension_};
  }

  /// Groups of kernels, and the vectors that hold the features of one; what is beyond the last
  /// kernel or feature is 0.
  std::size_t groups() const { return (kernels_ + kGroup - 1) / kGroup; }
  std::size_t row_vectors() const { return (features_ + kRun - 1) / kRun; }

  /// The frequencies of a group: dimension x row_vectors(), so that the columns where a sample is 0
  /// can be left out.
  const FloatLanes* Packed(std::size_t group) const {
    return packed_.data() + group * dimension_ * row_vectors();
  }

  /// Draw::kShared: the one draw, features x dimension, of which kernel i has Scales()[i] times as
  /// much; otherwise empty.
  std::span<const float> SharedFrequencies() const { return shared_; }
  std::span<const float> Scales() const { return scales_; }
  /// The same packed: dimension x shared_vectors(), of features only.
  const FloatLanes* PackedShared() const { return packed_shared_.data(); }
  std::size_t shared_vectors() const { return (features_ + kLanes - 1) / kLanes; }

  /// max_j ||rho_ij||, rounded up a little: bounds every angle of kernel i by this times ||x||.
  float LongestFrequency(std::size_t kernel) const { return longest_[kernel]; }

 private:
  void DrawShared(std::span<const Kernel> dictionary, std::uint64_t seed);
  void Prepare();

  std::size_t kernels_;
  std::size_t features_;
  std::size_t dimension_;
  std::vector<float> frequencies_;
  std::vector<FloatLanes> packed_;
  std::vector<float> shared_;
  std::vector<FloatLanes> packed_shared_;
  std::vector<float> scales_;
  std::vector<float> longest_;
};

}  // namespace polykern
