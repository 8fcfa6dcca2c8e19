#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <cassert>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <thread>

#include <mpi.h>

#include "polykern/core/error.h"
#include "polykern/sim/ranks/mpi_communicator_internal.h"

namespace polykern {
namespace {

int Int(std::size_t count) {
  if (count > INT32_MAX) {
    throw Error("more than 2^31 numbers at once are too many for MPI; use more ranks");
  }
  return static_cast<int>(count);
}

/// How many each rank has, and where each begins when they follow each other.
struct Places {
  std::vector<int> counts;
  std::vector<int> starts;
  std::size_t all = 0;

  explicit Places(std::vector<int> of_ranks) : counts(std::move(of_ranks)) {
    for (const int count : counts) {
      starts.push_back(Int(all));
      all += static_cast<std::size_t>(count);
    }
  }
};

/// MPI's own errors end all ranks, which is what MPI does unless told otherwise.
class MpiCommunicator final : public Communicator {
 public:
  /// The world's communicator starts and ends MPI.
  MpiCommunicator(MPI_Comm communicator, bool world) : mpi_(communicator), world_(world) {
    int number = 0;
    MPI_Comm_rank(mpi_, &number);
    rank_ = static_cast<std::size_t>(number);
    MPI_Comm_size(mpi_, &number);
    size_ = static_cast<std::size_t>(number);
    MPI_Comm local = MPI_COMM_NULL;
    MPI_Comm_split_type(mpi_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
    MPI_Comm_size(local, &number);
    local_size_ = static_cast<std::size_t>(number);
    MPI_Comm_rank(local, &number);
    local_rank_ = static_cast<std::size_t>(number);
    MPI_Comm_free(&local);
    if (world_) MPI_Comm_dup(mpi_, &parting_);
  }
  ~MpiCommunicator() override {
    if (world_) {
      MPI_Comm_free(&parting_);
      MPI_Finalize();
    } else {
      MPI_Comm_free(&mpi_);
    }
  }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return size_; }
  std::size_t local_size() const override { return local_size_; }
  std::size_t local_rank() const override { return local_rank_; }

  void Sum(std::span<std::int64_t> numbers) override {
    bytes_ += numbers.size_bytes();
    MPI_Allreduce(MPI_IN_PLACE, numbers.data(), Int(numbers.size()), MPI_UINT64_T, MPI_SUM, mpi_);
  }

  void Exchange(std::span<const Words> to, std::vector<Words>& from) override {
    assert(to.size() == size_);
    std::vector<int> counts;
    for (const Words& words : to) counts.push_back(Int(words.size()));
    const Places out(counts);
    MPI_Alltoall(out.counts.data(), 1, MPI_INT, counts.data(), 1, MPI_INT, mpi_);
    const Places in(counts);
    bytes_ += (out.all - to[rank_].size()) * sizeof(std::uint32_t);
    send_.clear();
    for (const Words& words : to) send_.insert(send_.end(), words.begin(), words.end());
    receive_.resize(in.all);
    MPI_Alltoallv(send_.data(), out.counts.data(), out.starts.data(), MPI_UINT32_T, receive_.data(),
                  in.counts.data(), in.starts.data(), MPI_UINT32_T, mpi_);
    Divide(in, from);
  }

  void AllGather(const Words& own, std::vector<Words>& all) override {
    const int count = Int(own.size());
    std::vector<int> counts(size_);
    MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, mpi_);
    const Places in(counts);
    bytes_ += own.size() * sizeof(std::uint32_t);
    receive_.resize(in.all);
    MPI_Allgatherv(own.data(), count, MPI_UINT32_T, receive_.data(), in.counts.data(),
                   in.starts.data(), MPI_UINT32_T, mpi_);
    Divide(in, all);
  }

  std::vector<double> Gather(std::span<const double> numbers) override {
    std::vector<double> all;
    GatherTo(numbers.data(), numbers.size(), MPI_DOUBLE, all);
    return all;
  }

  std::vector<std::string> Gather(const std::string& text) override {
    std::vector<char> all;
    const Places places = GatherTo(text.data(), text.size(), MPI_CHAR, all);
    std::vector<std::string> texts;
    for (std::size_t r = 0; rank_ == 0 && r < size_; ++r) {
      texts.emplace_back(all.data() + places.starts[r], places.counts[r]);
    }
    return texts;
  }

  void Broadcast(std::string& text) override {
    std::uint64_t size = text.size();
    MPI_Bcast(&size, 1, MPI_UINT64_T, 0, mpi_);
    text.resize(size);
    MPI_Bcast(text.data(), Int(size), MPI_CHAR, 0, mpi_);
  }

  std::unique_ptr<Communicator> Split(std::size_t groups) override {
    assert(size_ % groups == 0);
    MPI_Comm group = MPI_COMM_NULL;
    MPI_Comm_split(mpi_, Int(rank_ / (size_ / groups)), Int(rank_), &group);
    return std::make_unique<MpiCommunicator>(group, false);
  }

  bool PartTogether() override {
    assert(world_);
    MPI_Request all_are_here = MPI_REQUEST_NULL;
    MPI_Ibarrier(parting_, &all_are_here);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    int done = 0;
    while (!done && std::chrono::steady_clock::now() < end) {
      MPI_Test(&all_are_here, &done, MPI_STATUS_IGNORE);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (done) MPI_Finalize();
    return done;
  }

  void Abort() override {
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::_Exit(1);
  }

 private:
  void Divide(const Places& places, std::vector<Words>& parts) const {
    parts.resize(size_);
    for (std::size_t r = 0; r < size_; ++r) {
      const auto first = receive_.begin() + places.starts[r];
      parts[r].assign(first, first + places.counts[r]);
    }
  }

  /// Places are those of all ranks on rank 0, and of none elsewhere.
  template <typename T>
  Places GatherTo(const T* own, std::size_t size, MPI_Datatype type, std::vector<T>& all) {
    const int count = Int(size);
    std::vector<int> counts(rank_ == 0 ? size_ : 0);
    MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, mpi_);
    Places places(counts);
    all.resize(places.all);
    if (rank_ != 0) bytes_ += size * sizeof(T);
    MPI_Gatherv(own, count, type, all.data(), places.counts.data(), places.starts.data(), type, 0,
                mpi_);
    return places;
  }

  MPI_Comm mpi_;
  bool world_;
  MPI_Comm parting_ = MPI_COMM_NULL;  // of its own: others may wait in a call on mpi_
  std::size_t rank_ = 0;
  std::size_t size_ = 0;
  std::size_t local_size_ = 0;
  std::size_t local_rank_ = 0;
  Words send_;
  Words receive_;
};

}  // namespace

std::unique_ptr<Communicator> JoinByMpi() {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  if (provided < MPI_THREAD_FUNNELED) {
    throw Error(
        "this MPI library does not support threads; install one that does, such as Open MPI");
  }
  return std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, true);
}

}  // namespace polykern
