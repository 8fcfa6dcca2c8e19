#pragma once

#include "polykern/data/stream.h"
#include "polykern/results/row.h"
#include "polykern/sim/fleet.h"
#include "polykern/sim/ranks/communicator.h"
#include "polykern/sim/stream_history.h"
#include "polykern/sim/workers.h"

namespace polykern {

/// Reads the stream once and measures what needs no learning, for any algorithm that runs on it.
/// `own` are the clients of this rank, perhaps none; no two ranks have the same. All ranks get the
/// same, with the same bits for any number of threads and ranks. `device`: has the stream for these
/// clients, and may do the work; null: none.
Yardsticks MeasureYardsticks(const Stream& stream, const Attendance& attendance,
                             const WeightPlan& plan, const ClientRange& own, Workers& workers,
                             Communicator& ranks, const FleetData* device = nullptr);

}  // namespace polykern
