#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "polykern/net/learnt_ranges.h"
#include "polykern/net/rounds/rounds_core.h"
#include "polykern/net/wire.h"

namespace polykern {

/// What rounds do before the first step where ranges are learnt: when those of a quorum are here,
/// they take their place in the store's configuration, and every client is welcomed once more.
class RangesPhase {
 public:
  /// It is over at once if the store has ranges. Throws Error if the options do not say whose
  /// samples count.
  RangesPhase(RoundsCore& core, const StoreConfiguration& texts);

  bool learns() const { return ranges_.has_value(); }
  /// Clients whose ranges are here.
  std::size_t size() const { return ranges_ ? ranges_->size() : 0; }
  bool Has(std::uint64_t client) const { return ranges_ && ranges_->Has(client); }
  /// No message about them is longer; 0: none is expected.
  std::size_t longest() const { return ranges_ ? LongestRanges(ranges_->inputs()) : 0; }

  /// Throws BrokenRule, and changes nothing, if they break one.
  void Take(Link& link, const ClientRanges& ranges, RoundsTime now);
  /// From collecting to writing.
  void End();
  /// They are on the disk: there are steps from now on.
  void Publish(const StoreConfiguration& configuration);

 private:
  RoundsCore& core_;
  std::optional<LearntRanges> ranges_;  // while they are learnt
};

}  // namespace polykern
