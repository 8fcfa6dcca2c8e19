#pragma once

#include <cstddef>
#include <memory>

#include "polykern/sim/ranks/communicator.h"

namespace polykern {

/// The rank of this process among those that mpirun or a cluster's launcher started with it, by the
/// environment; and how many they are, 1 without a launcher.
struct Launch {
  std::size_t rank = 0;
  std::size_t size = 1;
};
Launch FindLaunch();

/// Joins the ranks that were started together; RunAlone() if there is but one. To be called once,
/// early. Throws Error if there are several and this library was built without MPI.
std::unique_ptr<Communicator> JoinRanks();

}  // namespace polykern
