#pragma once

#include <optional>
#include <span>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/options.h"
#include "polykern/gpu/device.h"

namespace polykern::gpu {

/// What a GPU has to know of an algorithm: the client half, as its kernels compute it.
struct FleetShape {
  KernelShape kernels;
  bool sends_losses = false;
  Rate learning_rate = {};
  std::optional<Rate> weight_rate = {};  ///< unset: clients have no weights, or AdaHedge's
  double exploration = 1;
  double pace = 1;  ///< of AdaHedge
};

/// at_start: clients have learnt nothing yet. Throws Error, naming what is in the way, for an
/// algorithm or options that have no GPU form.
FleetShape ShapeOf(const Algorithm& algorithm, bool at_start);

/// Angles of samples so long may be too large for the sine of the kernels.
bool MayHaveLargeAngles(const Algorithm& algorithm, float longest_sample);

/// The frequencies as the kernels read them: rows of stride() numbers, padded_features() of them
/// for each kernel; of kernels that share a draw, those of that draw.
std::vector<float> PackFrequencies(const Algorithm& algorithm, const KernelShape& shape);

/// The model likewise: for each kernel padded_features() numbers of the sines, and as many of the
/// cosines.
void PackModel(std::span<const float> model, const KernelShape& shape, std::span<float> packed);

}  // namespace polykern::gpu
