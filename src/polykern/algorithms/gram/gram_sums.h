#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/gram/gram_grid.h"
#include "polykern/algorithms/shared/cohort_features.h"
#include "polykern/core/kernels.h"
#include "polykern/core/normal_equations.h"
#include "polykern/core/packed_kernels.h"

namespace polykern {

/// The kernels of a bank one by one, each cut into quarters of its features, which fill the vectors
/// that EvaluateKernels works with. Immutable: threads may share it.
class QuarteredKernels {
 public:
  explicit QuarteredKernels(const KernelBank& bank);

  const PackedKernels& Of(std::size_t kernel) const { return kernels_[kernel]; }
  std::size_t quarter() const { return quarter_; }  ///< features in it; the last one is filled up

 private:
  std::size_t quarter_;
  std::vector<PackedKernels> kernels_;
};

/// What someone would have to find out to know a sample: its label and its inputs, of a sparse one
/// where they are and what they are. Of several samples, without the first `skipped`: all of it.
std::uint64_t UnknownsOf(std::span<const float> x);
std::uint64_t UnknownsOf(const LearntSamples& samples, std::size_t skipped = 0);

/// Computes what clients send. One per thread. Grid and kernels must outlive it.
class GramSums {
 public:
  GramSums(const GramGrid& grid, const QuarteredKernels& kernels);

  /// Appends the sums of an expert over these samples, at most 2^16 of them, and the weights. Exact
  /// sums of rounded products: the order of the samples does not matter. Labels count from the
  /// middle of [0, 1], and within it. With noise the weights are left out, and sums are rounded
  /// once more.
  void Append(std::size_t expert, const LearntSamples& samples, std::span<const double> weights,
              std::vector<std::uint64_t>& integers);

 private:
  void AppendNoisy(std::size_t width, std::vector<std::uint64_t>& integers) const;
  void AddChunk(std::size_t expert, const LearntSamples& samples, std::size_t first,
                std::size_t count, NormalEquations& equations);

  const GramGrid& grid_;
  const QuarteredKernels& kernels_;
  std::vector<CohortFeatures> features_;    // per kernel
  std::vector<NormalEquations> equations_;  // per size
  std::vector<std::uint64_t> nobody_;       // as many clients as a chunk has samples
  std::vector<float> row_;                  // a sample's features, sine and cosine in turn
  std::vector<DoubleLanes> rows_;
  std::vector<double> saved_;
};

}  // namespace polykern
