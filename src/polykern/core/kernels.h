#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace polykern {

/// Shift-invariant kernels k(x - x') with k(0) = 1.
enum class KernelKind {
  kGaussian,           ///< exp(-r^2 / (2 l^2))
  kLaplacian,          ///< product of exp(-|d_j| / l)
  kMatern12,           ///< exp(-r / l)
  kMatern32,           ///< (1 + sqrt(3) r / l) exp(-sqrt(3) r / l)
  kMatern52,           ///< (1 + sqrt(5) r / l + 5 r^2 / (3 l^2)) exp(-sqrt(5) r / l)
  kCauchy,             ///< product of 1 / (1 + d_j^2 / l^2)
  kRationalQuadratic,  ///< (1 + r^2 / (2 a l^2))^-a
};

struct Kernel {
  KernelKind kind = KernelKind::kGaussian;
  double length = 1;  ///< l > 0. The paper's bandwidth sigma is l squared.
  double shape = 1;   ///< a > 0, rational quadratic only
};

/// k(difference): the exact kernel, in double. For tests and reports, not for speed.
double KernelValue(const Kernel& kernel, std::span<const double> difference);

/// True if the spectral density depends on ||rho|| alone; only then can features be orthogonal.
bool IsIsotropic(KernelKind kind);

/// The paper's dictionary has `count` = 51 Gaussians, sigma_i = 10^((2i-52)/25), i = 1..51: squared
/// length-scales evenly spaced in the exponent from 0.01 to 100, for any count (1: sigma = 1).
/// Names: gaussian, laplacian, matern12, matern32, matern52, cauchy, rational-quadratic, and mixed
/// (Gaussian and Matern 3/2 in turn). Throws Error for an unknown name or count 0.
std::vector<Kernel> MakeDictionary(std::string_view name, std::size_t count);

/// "gaussian 0.01": the kind, as MakeDictionary names it, and the squared length l^2 to three
/// digits.
std::string KernelText(const Kernel& kernel);

/// All names MakeDictionary knows.
std::span<const std::string_view> DictionaryNames();

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
