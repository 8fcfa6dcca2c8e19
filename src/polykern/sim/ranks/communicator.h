#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace polykern {

/// What goes from one rank to another.
using Words = std::vector<std::uint32_t>;

/// The processes, called ranks, that run a simulation together, this one among them. All ranks make
/// the same calls in the same order, each from the thread that made the communicator; a call
/// returns once the others have made theirs as far as it needs them. If one of them is gone, it
/// does not return: the launcher then ends all.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual std::size_t rank() const = 0;  ///< 0 .. size() - 1
  virtual std::size_t size() const = 0;
  /// Ranks on this machine, which share its cores, and this one's number among them.
  virtual std::size_t local_size() const = 0;
  virtual std::size_t local_rank() const = 0;  ///< 0 .. local_size() - 1

  /// Every number becomes its sum over all ranks, modulo 2^64. Integers, so the sums have one
  /// result.
  virtual void Sum(std::span<std::int64_t> numbers) = 0;
  /// to[r] goes to rank r, and what r had for this rank comes as from[r].
  virtual void Exchange(std::span<const Words> to, std::vector<Words>& from) = 0;
  /// What every rank has, on every rank, in their order.
  virtual void AllGather(const Words& own, std::vector<Words>& all) = 0;
  /// What every rank has, one after the other, on rank 0; nothing on the others.
  virtual std::vector<double> Gather(std::span<const double> numbers) = 0;
  virtual std::vector<std::string> Gather(const std::string& text) = 0;
  /// Rank 0's text becomes that of all.
  virtual void Broadcast(std::string& text) = 0;

  /// `groups` communicators of neighbouring ranks, equally many in each; this rank's. `groups`
  /// must divide size(). Must not outlive this.
  virtual std::unique_ptr<Communicator> Split(std::size_t groups) = 0;
  /// For a rank that failed: whether all ranks call this within a second. They have then parted in
  /// order, and each must exit; if not, Abort() ends those that still work.
  virtual bool PartTogether() = 0;
  /// Ends all ranks, with exit code 1; the reason should have been told.
  [[noreturn]] virtual void Abort() = 0;

  /// Bytes that this rank has given to others so far: the numbers of a sum once, whichever way they
  /// are added up.
  std::uint64_t bytes() const { return bytes_; }

 protected:
  std::uint64_t bytes_ = 0;
};

/// The communicator of a process that runs alone: every call is free.
std::unique_ptr<Communicator> RunAlone();

/// Clients of a federation that one rank has: neighbours, as many as those of any other or one
/// more; perhaps none.
struct ClientRange {
  std::size_t first = 0;
  std::size_t count = 0;
};
ClientRange OwnClients(std::size_t clients, std::size_t rank, std::size_t ranks);
ClientRange OwnClients(std::size_t clients, const Communicator& ranks);

}  // namespace polykern
