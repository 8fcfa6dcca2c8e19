#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "polykern/net/rounds/front.h"
#include "polykern/net/rounds/rounds_core.h"
#include "polykern/net/rounds/shared_clients.h"

namespace polykern {

/// What rounds do where several front ends serve one federation: they hand in sums of what their
/// clients send, and hear of the next step, which one of them ends. Called with the core's mutex
/// held, but for the constructor and the destructor.
class SharedRounds {
 public:
  /// `store`: the front of the core's options, which is heard from now on. Throws Error if the
  /// roster cannot be written.
  SharedRounds(RoundsCore& core, Store& store);
  ~SharedRounds();
  SharedRounds(const SharedRounds&) = delete;
  SharedRounds& operator=(const SharedRounds&) = delete;

  SharedClients& clients() { return clients_; }

  void SetAddress(const std::string& address);
  /// Why no client can come in now: the database is away.
  std::optional<Ending> Refusal() const;
  /// Are answers to the open step handed in, or on their way?
  bool HasHandedIn() const { return !handed_in_.empty() || partial_.has_value(); }
  /// Whether clients that are away may still come in is asked at the front end that ends steps.
  void Recheck(const std::function<bool(const ClientNote&)>& may_come_in);

  bool HasToExchange(RoundsTime now) const;
  /// Tells the others all that there is, without the lock, and takes in what is new.
  void ExchangeAll(RoundsLock& lock, RoundsTime now);

  /// What is different in the status of one of several.
  void Describe(RoundsStatus& status) const;

 private:
  bool IsPartialDue(RoundsTime now) const;
  bool HasReported() const;
  /// Clients whose answers are not handed in yet are given up with the next partial.
  bool MayRelease() const { return core_.counted.empty() && late_from_.empty(); }
  void MakePartial(RoundsTime now);
  FrontWork WorkForOthers(RoundsTime now);
  void EndAll();
  void NoteAway(const Error& error, RoundsTime now);
  void TakeIn(const FrontWork& work, const FrontNews& news, RoundsTime now);
  void TakeFate(const FrontNews& news);
  void DropOpenAnswers();
  void PublishNewest(const ResumePoint& newest);

  RoundsCore& core_;
  Front& front_;
  SharedClients clients_;
  bool asked_ = false;  // for what there is of the open step
  bool over_ = false;   // it has ended, and the next one is being made

  std::uint64_t serial_ = 0;
  std::optional<FrontPartial> partial_ = {};      // is being handed in
  std::vector<CountedUpdate> partial_from_ = {};  // its updates
  std::vector<std::int64_t> late_sums_ = {};      // that were not in time, and count next time
  std::vector<CountedUpdate> late_from_ = {};
  std::vector<CountedUpdate> handed_in_ = {};  // of the open step, all of them
  std::vector<Rejections> rejected_ = {};      // by number
  std::vector<StoredEvent> events_ = {};

  std::string address_ = {};
  FrontReport reported_ = {};
  RoundsTime spoke_{};                   // the last time that anything was said
  RoundsTime try_again_{};               // not before
  std::optional<RoundsTime> away_ = {};  // since when
  bool ended_all_ = false;               // connections, because it is away
  FrontsStatus all_ = {};
};

}  // namespace polykern
