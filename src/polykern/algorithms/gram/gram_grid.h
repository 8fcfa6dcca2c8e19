#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polykern/algorithms/messages.h"
#include "polykern/algorithms/options.h"

namespace polykern {

/// The experts of pof-gram: every kernel of its bank with its first D features, for several D. Each
/// is also a kind of sums that clients send: over samples (z, y), z the first 2D numbers of the
/// kernel's features, sine and cosine in turn,
///   A = sum z z', the upper triangle row by row, each row followed by its entry of b = sum y z;
///   sum y^2; and the client's weights of all experts.
/// All D of a kernel have the features of one bank, so the sums of a larger D hold those of every
/// smaller one.
/// With noise (docs/understand/noise.md) there is one kernel of one size, and of its sums only
/// what is not known anyway: neither squared labels nor weights, and of a pair's sine s and cosine
/// c, whose squares add up to 1 / D, two numbers in place of three: sum (cc - ss) / sqrt 2 in that
/// of ss, sum sqrt 2 sc in that of sc, and none in that of cc. So the numbers of one sample have a
/// squared length of 1/2 in A and of at most 1/4 in b. Immutable: threads may share it.
class GramGrid {
 public:
  /// What the sizes of kernels are chosen from.
  static constexpr std::size_t kSizes[] = {5, 10, 21, 45, 100};
  /// Of the labels' range: what is predicted before anything is known, and what labels count from.
  static constexpr double kMiddle = 0.5;
  /// Features are rounded to multiples of 2^-18, so products are multiples of this, and sums exact.
  static constexpr double kUnit = 0x1p-36;
  /// With noise sums are rounded to multiples of this. It is fine beside the noise, which must be
  /// an integer of at most 2^26 or so.
  static constexpr double kNoisyUnit = 0x1p-16;
  /// What the size is chosen from where there is noise: the largest that the budget allows. More
  /// features have more noise, fewer see less.
  static constexpr std::size_t kNoisySizes[] = {10, 21, 30};
  /// Sums over so many samples stay within 64 bits: a label's square is at most 1/4.
  static constexpr std::uint64_t kMostSamples = (std::uint64_t{1} << 29) - 1;

  /// Every size of kSizes up to `features`, the bank's.
  GramGrid(std::size_t kernels, std::size_t features);
  /// With noise: one kernel with so many features.
  static GramGrid Noisy(std::size_t features);

  /// The largest size of which a client may send the sums at once; 0: not even the smallest.
  static std::size_t LargestSize(std::size_t kernels, const AlgorithmOptions& options);
  static std::size_t LargestNoisySize(const AlgorithmOptions& options);

  bool noisy() const { return noisy_; }
  double unit() const { return noisy_ ? kNoisyUnit : kUnit; }  ///< of what is sent
  std::size_t kernels() const { return kernels_; }
  std::size_t sizes() const { return sizes_.size(); }
  std::size_t experts() const { return kernels_ * sizes(); }
  std::size_t features() const { return sizes_.back(); }  ///< of the bank

  std::size_t KernelOf(std::size_t expert) const { return expert / sizes(); }
  std::size_t SizeOf(std::size_t expert) const { return sizes_[expert % sizes()]; }  ///< D
  std::size_t WidthOf(std::size_t expert) const { return 2 * SizeOf(expert); }       ///< F
  /// Is there the same kernel with fewer features? It is the expert before.
  bool HasSmaller(std::size_t expert) const { return expert % sizes() > 0; }

  /// All experts, in the order of their sizes.
  std::vector<std::size_t> SmallestFirst() const;

  /// Numbers of A and b.
  static std::size_t EquationsSize(std::size_t width) { return width * (width + 3) / 2; }
  /// Where row i of A begins among them; its entry of b is the last of the row.
  static std::size_t RowStart(std::size_t width, std::size_t i) {
    return i * (width + 1) - i * (i - 1) / 2;
  }
  /// Numbers of an expert's sums: A, b, the sum of y^2, the weights; with noise A and b, less one
  /// for each pair.
  std::size_t NumbersOf(std::size_t expert) const {
    const std::size_t equations = EquationsSize(WidthOf(expert));
    return noisy_ ? equations - SizeOf(expert) : equations + 1 + experts();
  }

  /// The model has a block for each kernel: theta of its sizes one after the other, sines first.
  std::size_t model_width() const { return model_width_; }
  std::size_t ThetaStart(std::size_t expert) const {
    return KernelOf(expert) * model_width_ + theta_start_[expert % sizes()];
  }
  /// Of the model and the messages; `most_numbers`: in one message.
  ModelShape Shape(std::size_t most_numbers) const;

 private:
  GramGrid() = default;

  bool noisy_ = false;
  std::size_t kernels_ = 1;
  std::vector<std::size_t> sizes_;
  std::vector<std::size_t> theta_start_;  // per size, within a kernel's block
  std::size_t model_width_ = 0;
};

}  // namespace polykern
