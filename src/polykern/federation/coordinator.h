#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "polykern/algorithms/algorithm.h"

namespace polykern {

/// Throws Error unless masks can hide all but sums of what its clients send.
void CheckTakesMasks(const Algorithm& algorithm);

/// One round seen from the server side, without a transport: the broadcast of this step, the
/// updates that answer it, each checked before it touches anything, and the commit that ends the
/// step. Clients may miss steps, join late and leave; those that sent count in this step's K.
///
/// Updates may come through several lanes at once, one thread per lane, if no client uses two lanes
/// in one step. Everything else: one thread at a time. The result has the same bits for any number
/// of lanes and any order of arrival.
class Coordinator {
 public:
  /// For clients first_client .. first_client + clients - 1. The algorithm must outlive it.
  explicit Coordinator(const Algorithm& algorithm, std::size_t clients, std::size_t lanes = 1,
                       std::uint64_t first_client = 0);

  /// From now on updates must be masked, and the caller takes
  /// the masks off sums, or refuses to, between Commit and Open. Throws Error for an algorithm
  /// without such sums.
  void TakeMasked();
  /// From now on the caller opens sums, masked or not.
  void LetCallerOpen() { caller_opens_ = true; }

  /// From now on updates may answer steps that have ended: they count in the open one. For
  /// algorithms whose messages do not depend on the model (AlgorithmTraits::takes_late_updates). A
  /// client's updates must still answer later and later steps, so a client may count twice in one
  /// step, and no update does.
  void TakeLateUpdates() { takes_late_ = true; }

  /// Clients may know of so many releases, if that is more than there were here: the helper does,
  /// and this server's state may be an older one.
  void AllowReleases(std::uint64_t releases) { most_releases_ = releases; }

  /// From now on numbers in updates must not be larger; at first ExactSum::kLimit.
  void LimitNumbers(float most) { limit_ = most; }

  /// What every client of this step works from.
  const Broadcast& broadcast() const { return server_->broadcast(); }

  /// Takes updates in. Throws BrokenRule and changes nothing if they are for another step, from an
  /// unknown client, from one that answered their step already, do not hold the sums that the open
  /// step asks for, or do not pass CheckUpdates or the algorithm's CheckContents.
  void Receive(const Updates& updates, std::size_t lane = 0);

  /// Why clients can no longer learn with the model, in a line; empty: they can.
  std::string Trouble() const { return algorithm_.TroubleOf(broadcast()); }

  /// Updates of this step so far.
  std::uint64_t participants() const;

  /// Ends the step, with the clients that sent; the next broadcast is ready, unless the caller
  /// opens sums and there is something in releases(): then Open makes it ready. `run` shares out
  /// the work among as many lanes as there are here.
  void Commit(const RunJobs& run = RunInTurn) { Commit(participants(), run); }

  /// Sums that the last Commit closed, if the caller opens them.
  std::span<Release> releases() { return server_->releases(); }
  /// The caller has left in them what may be seen.
  void Open() { server_->Open(); }

  /// What the last Commit and Open did not take in, and why (Server::discarded).
  std::span<const std::string> discarded() const { return server_->discarded(); }

  /// One federation may have several coordinators, each with clients of its own and all with the
  /// same model. Before they commit a step, each must hold the updates of all clients: either their
  /// sums, or, of the blocks whose model it is asked for, every single update.
  /// Sums: what was received here, to be replaced by the sums over all coordinators; nothing at all
  /// if the server needs single updates.
  std::vector<std::span<std::int64_t>> Sums();
  /// The same for coordinators of different processes: what was received here since the last call,
  /// for AddPartial of one that ends the step of all. The clients have answered. One lane only; not
  /// for servers that need single updates.
  std::vector<std::int64_t> TakePartial();
  /// What another coordinator took in, over so many updates. Throws Error, and adds nothing, if it
  /// cannot be of such a federation.
  void AddPartial(std::span<const std::int64_t> packed, std::uint64_t participants);
  /// What was received here since the last commit is void: no client has answered.
  void DropUpdates();
  /// Throws what Receive would throw; changes nothing.
  void Check(const Updates& updates) const;
  /// From now on the clients of these updates, which passed Check, have answered their step.
  void MarkAnswered(const Updates& updates);
  /// Takes in updates, of any clients, that another coordinator has checked and marked. They need
  /// neither name their clients nor have losses. Not masked ones.
  void Relay(const Updates& updates, std::size_t lane = 0) { inboxes_[lane]->Add(updates); }
  /// Ends the step of all coordinators, in which so many clients took part.
  void Commit(std::uint64_t participants, const RunJobs& run);

  std::size_t clients() const { return answered_.size(); }
  /// New clients get the next numbers; they may send at once.
  void AddClients(std::size_t count) { answered_.resize(answered_.size() + count); }

  /// As the clients have said (Server::MeanWeights).
  std::vector<double> MeanWeights() const { return server_->MeanWeights(); }

  /// Saves the model after the last commit, and restores it. Updates of an open step are not part
  /// of it. `answered`: for each client 1 + the last step it had answered by then; empty: no client
  /// is known to have answered any.
  std::vector<double> Save() const { return server_->Save(); }
  void Load(std::uint64_t step, std::span<const double> saved,
            std::span<const std::uint64_t> answered = {});

 private:
  struct alignas(64) Lane {
    std::uint64_t participants = 0;
  };

  void CheckTurn(const Updates& updates) const;

  const Algorithm& algorithm_;
  std::uint64_t first_client_;
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<Inbox>> inboxes_;  // one per lane
  std::vector<Lane> lanes_;
  std::vector<std::uint64_t> answered_;  // per client: 1 + the last step it answered
  bool takes_late_ = false;
  std::uint64_t most_releases_ = 0;  // that clients may know of
  float limit_;                      // of numbers in updates
  bool masked_ = false;
  bool caller_opens_ = false;
};

}  // namespace polykern
