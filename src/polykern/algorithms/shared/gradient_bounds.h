#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "polykern/algorithms/algorithm.h"

namespace polykern {

/// How far an honest client can be from the model that it answers, where labels are in [0, 1]
/// (Problem::unit_labels): features have the length 1, so a kernel whose parameters have the norm a
/// predicts within [-a, a], and the rest follows from the loss and the rate. Where labels may be
/// anything nothing follows, and these functions refuse nothing. Pure.
class GradientBounds {
 public:
  explicit GradientBounds(const AlgorithmDefinition& definition);

  /// Throws BrokenRule unless each block is at most `rate(block)` times as long as a gradient there
  /// can be, and each loss, where a block has one, at most what the block can lose.
  void CheckSteps(const ModelShape& shape, const Updates& updates, const Broadcast& broadcast,
                  const std::function<double(std::uint32_t)>& rate) const;
  /// Throws BrokenRule unless each block and each loss can be that of parameters that have been
  /// learnt from `samples` samples at most, one after the other, with steps of this rate, each of
  /// which leaves `keep` of what was there.
  void CheckParameters(const ModelShape& shape, const Updates& updates, std::uint64_t samples,
                       double rate, double keep) const;

  /// Why clients can no longer learn with this model, in a line: predictions may be further from
  /// any label than numbers in an update may be large. Empty: they can.
  std::string TroubleOf(const ModelShape& shape, const Broadcast& broadcast) const;

 private:
  double MostSlope(double norm) const;
  double MostLoss(double norm) const;
  double MostGrowth(double rate, double keep) const;

  Loss loss_;
  double regularization_;
  bool unit_labels_;
};

}  // namespace polykern
