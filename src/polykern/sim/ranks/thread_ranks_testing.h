#pragma once

#include <barrier>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "polykern/sim/ranks/communicator.h"

namespace polykern {

/// Ranks that are threads of one process: for tests, and for sanitizers, which know no MPI.
class ThreadRank final : public Communicator {
 public:
  /// Where they meet.
  struct Hub {
    explicit Hub(std::size_t ranks) : meeting(static_cast<std::ptrdiff_t>(ranks)), shown(ranks) {}
    std::barrier<> meeting;
    std::vector<const void*> shown;
  };

  ThreadRank(std::shared_ptr<Hub> hub, std::size_t rank) : hub_(std::move(hub)), rank_(rank) {}

  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return hub_->shown.size(); }
  std::size_t local_size() const override { return size(); }
  std::size_t local_rank() const override { return rank_; }

  void Sum(std::span<std::int64_t> numbers) override {
    bytes_ += numbers.size_bytes();
    std::vector<std::uint64_t> sums(numbers.size());
    Look<std::span<std::int64_t>>(numbers, [&](std::size_t, const auto& theirs) {
      for (std::size_t i = 0; i < sums.size(); ++i) {
        sums[i] += static_cast<std::uint64_t>(theirs[i]);
      }
    });
    for (std::size_t i = 0; i < sums.size(); ++i) numbers[i] = static_cast<std::int64_t>(sums[i]);
  }
  void Exchange(std::span<const Words> to, std::vector<Words>& from) override {
    from.resize(size());
    Look<std::span<const Words>>(
        to, [&](std::size_t r, const auto& theirs) { from[r] = theirs[rank_]; });
  }
  void AllGather(const Words& own, std::vector<Words>& all) override {
    std::vector<Words> found(size());
    Look<Words>(own, [&](std::size_t r, const Words& theirs) { found[r] = theirs; });
    all = std::move(found);
  }
  std::vector<double> Gather(std::span<const double> numbers) override {
    std::vector<double> all;
    Look<std::span<const double>>(numbers, [&](std::size_t, const auto& theirs) {
      if (rank_ == 0) all.insert(all.end(), theirs.begin(), theirs.end());
    });
    return all;
  }
  std::vector<std::string> Gather(const std::string& text) override {
    std::vector<std::string> all;
    Look<std::string>(text, [&](std::size_t, const std::string& theirs) {
      if (rank_ == 0) all.push_back(theirs);
    });
    return all;
  }
  void Broadcast(std::string& text) override {
    std::string first;
    Look<std::string>(text, [&](std::size_t r, const std::string& theirs) {
      if (r == 0) first = theirs;
    });
    text = first;
  }
  std::unique_ptr<Communicator> Split(std::size_t groups) override {
    const std::size_t together = size() / groups;
    const auto made = std::make_shared<Hub>(together);
    std::shared_ptr<Hub> own;
    Look<std::shared_ptr<Hub>>(made, [&](std::size_t r, const std::shared_ptr<Hub>& theirs) {
      if (r == rank_ / together * together) own = theirs;
    });
    return std::make_unique<ThreadRank>(own, rank_ % together);
  }
  bool PartTogether() override { return true; }
  void Abort() override { std::abort(); }

 private:
  /// Calls see(rank, what it shows) for all ranks.
  template <class T, class See>
  void Look(const T& own, const See& see) {
    hub_->shown[rank_] = &own;
    hub_->meeting.arrive_and_wait();
    for (std::size_t r = 0; r < size(); ++r) see(r, *static_cast<const T*>(hub_->shown[r]));
    hub_->meeting.arrive_and_wait();
  }

  std::shared_ptr<Hub> hub_;
  std::size_t rank_;
};

/// Calls work(rank) on a thread for each of so many ranks, and returns when all are done.
inline void RunRanks(std::size_t ranks, const std::function<void(Communicator&)>& work) {
  const auto hub = std::make_shared<ThreadRank::Hub>(ranks);
  std::vector<std::jthread> threads;
  for (std::size_t r = 0; r < ranks; ++r) {
    threads.emplace_back([&work, hub, r] {
      ThreadRank rank(hub, r);
      work(rank);
    });
  }
}

}  // namespace polykern
