#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "polykern/net/rounds/links.h"
#include "polykern/net/rounds/rounds_options.h"
#include "polykern/net/rounds/rounds_status.h"
#include "polykern/net/store/store.h"
#include "polykern/net/wire.h"

namespace polykern {

/// What a client has done wrong lately.
struct Strikes {
  std::size_t violations = 0;
  RoundsTime banned_until{};
};

/// A client of a federation, connected or not.
struct Member {
  std::string name;
  std::uint64_t number = 0;     ///< in the federation: its place here, if there is one server
  bool stored = false;          ///< its enrolment is on the disk; one of several front ends:
                                ///< and others know that it is here
  std::uint64_t next_step = 0;  ///< after the last one it answered
  std::uint64_t stored_next_step = 0;  ///< the same of those on the disk
  std::uint64_t rejected = 0;          ///< updates, since the last step
  Strikes strikes = {};
  bool awaited = true;                    ///< false: it let a deadline pass
  bool counted = false;                   ///< an update of it is, in the open step
  std::uint64_t took_part = 0;            ///< 1 + the last step that an update of it counted in
  std::optional<SessionId> session = {};  ///< its connection
  ClientReport report = {};
  std::string program = {};  ///< Hello::program
  bool known = false;        ///< at one of several front ends: it has answered before
  bool clips = false;        ///< it has told of labels outside their range
  /// It was forgotten, or no certificate lets it in: not waited for, until it connects.
  bool gone = false;
  ClientNote note = {};
};

/// Who takes part in a federation: the clients and their numbers, who may come in, who is expected
/// to answer the open step and who has. One thread at a time.
class Membership {
 public:
  /// The clients of a store, whose newest step this is, and those of the roster after them; at one
  /// of several front ends only those that come here. The options must outlive it.
  Membership(const RoundsOptions& options, std::span<const StoredClient> stored,
             std::uint64_t step);

  std::size_t size() const { return members_.size(); }
  Member& operator[](std::uint64_t number) { return members_[number]; }
  const Member& operator[](std::uint64_t number) const { return members_[number]; }
  std::optional<std::uint64_t> Find(const std::string& name) const;

  /// Why this client cannot come in now.
  std::optional<Ending> Refusal(const std::string& name, RoundsTime now) const;
  /// A client that is new gets the next number.
  std::uint64_t Enrol(const std::string& name);
  /// The next so many clients are on the disk: these.
  std::span<const Member> MarkStored(std::size_t count);

  void Connect(std::uint64_t number, SessionId session);
  void Disconnect(std::uint64_t number);
  /// Member::gone; a client that is connected is not.
  void SetGone(std::uint64_t number, bool gone);

  /// An update of this client counts in the open step.
  void Count(std::uint64_t number, std::uint64_t step);
  /// Before the first step: ranges of this client count, as an answer to it would.
  void CountRanges(std::uint64_t number);
  /// There are no steps yet: a share is of those that are named, and everyone by default, since
  /// a client that comes too late has ranges that others chose.
  void LearnRanges() { learns_ranges_ = true; }
  /// The ranges are known: no client has answered the first step.
  void BeginSteps();
  /// It sent something, if nothing that counts: it is waited for again.
  void Await(std::uint64_t number);
  /// An update of this client was rejected; true: it is one too many, and the client is banned.
  bool Reject(std::uint64_t number, RoundsTime now);
  /// The same of what a client sent that may not be enrolled.
  bool Reject(const std::string& name, RoundsTime now);
  bool IsBanned(const std::string& name, RoundsTime now) const;

  /// The deadline has passed twice without a quorum: clients that have not answered are not there.
  void StopWaiting();
  bool HasQuorum() const { return answering_ >= needed(); }
  /// No client is left that could answer the open step.
  bool IsComplete() const { return unanswered_ == 0 || answering_ == members_.size(); }

  /// What other front ends know of a client: the open step, or an earlier one, is the next that it
  /// answers. Nothing of it waits here.
  void Settle(std::uint64_t number, std::uint64_t next_step);
  std::size_t connected() const { return connected_; }
  /// Connected clients whose answers are waited for.
  std::size_t waiting() const { return unanswered_; }
  /// Connected clients that have never answered.
  std::size_t newcomers() const;

  /// The open step takes no more answers; what was rejected since the one before.
  std::vector<Rejections> EndCollecting();
  /// The step is on the disk, with these updates, and the next one is open.
  void BeginStep(std::uint64_t step, std::span<const CountedUpdate> counted);

  /// What it knows of the status.
  void Describe(RoundsStatus& status) const;

 private:
  bool AddStrike(Strikes& strikes, RoundsTime now) const;
  void ForgetAnswer(Member& member);
  bool IsWaitedFor(const Member& member) const;
  /// It is gone, or has nothing to do with the federation yet: it came, and went before it sent
  /// anything.
  bool IsAbsent(const Member& member) const;
  /// The clients that `all` means.
  std::size_t expected() const { return members_.size() - absent_; }
  /// The clients that a share is of.
  std::size_t there() const { return answering_ + unanswered_; }
  bool needs_share() const {
    return !options_.quorum.all() && options_.quorum.count == 0 && !learns_ranges_;
  }
  std::uint64_t needed() const;

  const RoundsOptions& options_;
  std::unordered_set<std::string> roster_;  // at one of several front ends: who may come
  std::vector<Member> members_;             // by number
  std::unordered_map<std::string, std::uint64_t> numbers_;
  std::unordered_map<std::string, Strikes>
      strangers_;           // who have a certificate, and are not members
  std::size_t stored_ = 0;  // of the members
  std::uint64_t step_;      // that is open
  std::size_t connected_ = 0;
  std::size_t unanswered_ = 0;  // connected, and waited for
  std::size_t absent_ = 0;
  std::size_t gone_ = 0;
  std::size_t answering_ = 0;  // with an update in the open step
  bool learns_ranges_ = false;
};

}  // namespace polykern
