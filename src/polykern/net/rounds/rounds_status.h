#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "polykern/algorithms/broken_rule.h"
#include "polykern/core/error.h"
#include "polykern/net/rounds/front.h"
#include "polykern/net/store/store.h"
#include "polykern/net/wire.h"

namespace polykern {

/// A client as its operator sees it. A plain value.
struct ClientView {
  std::string name;
  std::uint64_t number = 0;
  bool connected = false;
  bool awaited = true;  ///< false: it lets steps pass without an answer
  bool gone = false;    ///< it was forgotten, or no certificate lets it in
  std::uint64_t next_step = 0;
  ClientNote note = {};
  ClientReport report = {};
  std::string program = {};  ///< Hello::program of its last connection
};

/// What the rounds have seen since they began, and where they are. A plain value.
struct RoundsStatus {
  std::uint64_t step = 0;  ///< committed
  bool finished = false;
  std::size_t enrolled = 0;
  std::size_t connected = 0;
  std::size_t gone = 0;  ///< forgotten, or without a good certificate
  /// When the first certificate of a connected client ends, in seconds since 1970; none: they have
  /// none.
  std::optional<std::int64_t> first_expiry = {};
  bool learns_ranges = false;  ///< there are no steps yet: it waits for clients' ranges
  std::uint64_t answered = 0;  ///< updates of the open step, or ranges
  std::uint64_t needed = 0;    ///< clients that must answer before it may end
  /// The first few that have not, of those that are expected to, while they are too few.
  std::vector<std::string> missing = {};
  std::uint64_t accepted = 0;
  std::uint64_t used_late = 0;   ///< of these for a step that had ended
  std::uint64_t late = 0;        ///< updates for a step that had ended, dropped
  std::uint64_t duplicates = 0;  ///< sent again after a lost connection, dropped
  std::uint64_t rejected = 0;
  std::map<std::string, std::uint64_t> rejected_for = {};  ///< by NameOf
  std::uint64_t refused = 0;                               ///< connections
  std::uint64_t clipped = 0;                               ///< labels outside their range
  std::uint64_t releases = 0;                              ///< of sums, ever
  std::uint64_t discarded = 0;        ///< of these since the start: refused or impossible
  std::size_t reporting = 0;          ///< clients that have reported
  double reported_squared_error = 0;  ///< mean over all predictions they reported
  double reported_regret = 0;         ///< mean over these clients
  /// ClientReport::skill of all predictions of clients that tell it.
  std::optional<double> reported_skill = {};
  /// The others that serve the federation; none: it has one server.
  std::optional<FrontsStatus> fronts = {};
  /// Why nothing is being written for now: no room on the disk. Or that clients are ahead of the
  /// store, which was lost or rolled back; or that the model has diverged.
  std::string trouble = {};
  /// Why no step can ever be committed again: the server must stop.
  std::optional<Error> failure = {};
};

/// In words: clients have answered all steps before `next`, which the store knows nothing of.
std::string StoreIsBehind(std::uint64_t next, std::uint64_t step);

/// A rule in a word, for metrics.
std::string NameOf(Rule rule);

}  // namespace polykern
