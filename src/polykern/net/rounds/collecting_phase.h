#pragma once

#include <cstddef>
#include <cstdint>

#include "polykern/net/rounds/rounds_core.h"
#include "polykern/net/wire.h"

namespace polykern {

/// How rounds collect the updates of the open step, and end it when it is due.
class CollectingPhase {
 public:
  explicit CollectingPhase(RoundsCore& core) : core_(core) {}

  /// `first`: no other update of the open step has left this server yet. Throws BrokenRule, and
  /// changes nothing, if it breaks one.
  void Take(Link& link, Updates& updates, bool first, RoundsTime now);
  /// May the step end that has so many answers, updates or ranges?
  bool IsDue(std::size_t answers, RoundsTime now) const;
  /// So many have fallen silent at once that the others are not a quorum: they are not there.
  void DropTheSilent(RoundsTime now);
  /// From collecting to writing.
  void End();

 private:
  void NoteClipped(Member& member, std::uint64_t labels);

  RoundsCore& core_;
};

}  // namespace polykern
