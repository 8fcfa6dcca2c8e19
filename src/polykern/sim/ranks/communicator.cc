#include "polykern/sim/ranks/communicator.h"

#include <cstdlib>

#include "polykern/core/error.h"
#ifdef POLYKERN_HAS_MPI
#include "polykern/sim/ranks/mpi_communicator_internal.h"
#endif

namespace polykern {
namespace {

class Alone final : public Communicator {
 public:
  std::size_t rank() const override { return 0; }
  std::size_t size() const override { return 1; }
  std::size_t local_size() const override { return 1; }
  void Sum(std::span<std::int64_t>) override {}
  void Exchange(std::span<const Words> to, std::vector<Words>& from) override {
    from.assign(to.begin(), to.end());
  }
  void AllGather(const Words& own, std::vector<Words>& all) override { all.assign(1, own); }
  std::vector<double> Gather(std::span<const double> numbers) override {
    return {numbers.begin(), numbers.end()};
  }
  std::vector<std::string> Gather(const std::string& text) override { return {text}; }
  void Broadcast(std::string&) override {}
  std::unique_ptr<Communicator> Split(std::size_t) override { return RunAlone(); }
  void Abort() override { std::_Exit(1); }
};

/// The first of these variables that is set, as a number.
std::size_t FromEnvironment(std::initializer_list<const char*> names, std::size_t otherwise) {
  for (const char* name : names) {
    if (const char* text = std::getenv(name)) return std::strtoull(text, nullptr, 10);
  }
  return otherwise;
}

}  // namespace

std::unique_ptr<Communicator> RunAlone() {
  return std::make_unique<Alone>();
}

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

ClientRange OwnClients(std::size_t clients, std::size_t rank, std::size_t ranks) {
  const std::size_t first = clients * rank / ranks;
  return {first, clients * (rank + 1) / ranks - first};
}

ClientRange OwnClients(std::size_t clients, const Communicator& ranks) {
  return OwnClients(clients, ranks.rank(), ranks.size());
}

}  // namespace polykern
