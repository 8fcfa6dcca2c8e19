#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "polykern/net/configuration.h"
#include "polykern/net/wire.h"

namespace polykern {

/// Numbers beyond this in size neither widen a range nor are taken from a client: the width of a
/// range must be a number.
inline constexpr double kLargestInRange = 1e300;

/// How much wider than what was seen a learnt range is, on either side: the data of a few samples
/// are seldom all that will come (docs/operate/settings.md has figures).
inline constexpr double kRangeMargin = 0.1;

/// The ranges of a federation that learns them, from the least and greatest values that its clients
/// tell: least of the least to greatest of the greatest, and the margin. Their order does not
/// matter. Use it from one thread at a time.
class LearntRanges {
 public:
  /// Of a federation with learn_ranges above 0.
  explicit LearntRanges(FederationConfiguration federation)
      : federation_(std::move(federation)), inputs_(federation_.own_inputs()) {}

  /// What this client tells; true: for the first time, false: the same again. Throws BrokenRule,
  /// and changes nothing, for another number of columns, numbers that are not finite or too large,
  /// a least above its greatest, and other values than the client has told before.
  bool Take(std::uint64_t client, const ClientRanges& ranges);

  bool Has(std::uint64_t client) const { return by_client_.contains(client); }
  std::size_t size() const { return by_client_.size(); }  ///< clients
  std::size_t inputs() const { return inputs_; }

  /// The federation as if these ranges had been declared. A column that has one value alone gets a
  /// range around it that holds 0 as well, or at least 1 on either side. Needs a client.
  FederationConfiguration Federation() const;

 private:
  FederationConfiguration federation_;
  std::size_t inputs_;
  std::map<std::uint64_t, ClientRanges> by_client_;
};

/// Is `known` the federation that `learning` was before its ranges were learnt?
bool IsLearntFrom(const FederationConfiguration& learning, const FederationConfiguration& known);

}  // namespace polykern
