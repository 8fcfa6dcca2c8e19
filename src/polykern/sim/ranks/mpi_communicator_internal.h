#pragma once

#include <memory>

#include "polykern/sim/ranks/communicator.h"

namespace polykern {

/// All ranks of MPI_COMM_WORLD; starts MPI, and ends it when destroyed. Only in builds with MPI.
std::unique_ptr<Communicator> JoinByMpi();

}  // namespace polykern
