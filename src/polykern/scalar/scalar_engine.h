#pragma once

#include "polykern/algorithms/engine.h"

namespace polykern {

/// The slow twin of every algorithm: plain loops over one client, one kernel and one number after
/// the other, in the order of operations that core/random_features.h and core/vector_ops.h
/// document. Gives the CPU's bits wherever that has fused multiply-add; elsewhere a feature is off
/// by 1e-7 or so. Shares random numbers, losses and perfedavg's network with the CPU, which are
/// plain loops there as well. For tests: takes tens of times as long.
const Engine& ScalarEngine();

}  // namespace polykern
