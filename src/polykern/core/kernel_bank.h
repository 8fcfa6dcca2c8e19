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

/// N kernels with D frequencies each in d dimensions: everything that server and clients must
/// share to speak of the same features. They share it by seed; the numbers are never sent.
/// Immutable after construction: any number of threads may use it.
class KernelBank {
 public:
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

  /// Draw::kShared: the one draw, features x dimension, of which kernel i has Scales()[i] times as
  /// much; otherwise empty.
  std::span<const float> SharedFrequencies() const { return shared_; }
  std::span<const float> Scales() const { return scales_; }

  /// max_j ||rho_ij||, rounded up a little: bounds every angle of kernel i by this times ||x||.
  float LongestFrequency(std::size_t kernel) const { return longest_[kernel]; }

 private:
  void DrawShared(std::span<const Kernel> dictionary, std::uint64_t seed);
  void MeasureFrequencies();

  std::size_t kernels_;
  std::size_t features_;
  std::size_t dimension_;
  std::vector<float> frequencies_;
  std::vector<float> shared_;
  std::vector<float> scales_;
  std::vector<float> longest_;
};

}  // namespace polykern
