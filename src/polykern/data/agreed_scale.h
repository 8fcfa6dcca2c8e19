#pragma once

#include "polykern/data/scaling.h"
#include "polykern/data/source.h"

namespace polykern {

/// The scale that a federation's members have agreed on, from what its server tells them: `told` is
/// net's FederationConfiguration, which this folder does not know. Throws Error for a scaling with
/// another name than none, norm or range.
Scale AgreedScale(const auto& told) {
  Scale scale;
  scale.kind = told.scaling == "none" ? Scaling::kNone : ParseScaling(told.scaling);
  scale.norm = told.norm;
  for (const auto& column : told.columns) scale.features.push_back({column.low, column.high});
  scale.target = {told.target.low, told.target.high};
  scale.scales_labels = told.ScalesLabels();
  return scale;
}

}  // namespace polykern
