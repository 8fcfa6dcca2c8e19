#include "polykern/sim/ranks/launch.h"

#include <cstdlib>
#include <initializer_list>

#include "polykern/core/error.h"
#ifdef POLYKERN_HAS_MPI
#include "polykern/sim/ranks/mpi_communicator_internal.h"
#endif

namespace polykern {
namespace {

/// The first of these variables that is set, as a number.
std::size_t FromEnvironment(std::initializer_list<const char*> names, std::size_t otherwise) {
  for (const char* name : names) {
    if (const char* text = std::getenv(name)) return std::strtoull(text, nullptr, 10);
  }
  return otherwise;
}

}  // namespace

Launch FindLaunch() {
  // Open MPI's mpirun; MPICH's and srun --mpi=pmi2; srun --mpi=pmix, which tells no size of its
  // own.
  const bool by_pmix = std::getenv("PMIX_RANK") != nullptr;
  return {FromEnvironment({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}, 0),
          FromEnvironment({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                           by_pmix ? "SLURM_STEP_NUM_TASKS" : "OMPI_COMM_WORLD_SIZE"},
                          1)};
}

std::unique_ptr<Communicator> JoinRanks() {
  if (FindLaunch().size <= 1) return RunAlone();
#ifdef POLYKERN_HAS_MPI
  return JoinByMpi();
#else
  throw Error(
      "started as one of several ranks, but this program was built without MPI; install MPI "
      "(Debian: libopenmpi-dev) and build again, or start it without mpirun");
#endif
}

}  // namespace polykern
