#pragma once

// The public interface: what is included here is installed, and nothing else
// (cmake/polykern_library.cmake). A program may include this file, or those that it needs.

#include "polykern/agent_c.h"
#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/messages.h"
#include "polykern/algorithms/options.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/error.h"
#include "polykern/core/kernels.h"
#include "polykern/core/losses.h"
#include "polykern/core/metrics.h"
#include "polykern/core/names.h"
#include "polykern/core/version.h"
#include "polykern/data/stream.h"
#include "polykern/data/synthetic.h"
#include "polykern/federation/client.h"
#include "polykern/federation/coordinator.h"
#include "polykern/federation/sealing.h"
#include "polykern/io/input_position.h"
#include "polykern/net/agent/agent.h"
#include "polykern/net/configuration.h"
#include "polykern/results/row.h"
#include "polykern/sim/simulation.h"
#include "polykern/sim/workers.h"
