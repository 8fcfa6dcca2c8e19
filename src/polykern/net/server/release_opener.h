#pragma once

#include <span>
#include <string>

#include "polykern/algorithms/algorithm.h"

namespace polykern {

/// Whoever takes masks off the sums of a federation. Any thread may call anything.
class ReleaseOpener {
 public:
  virtual ~ReleaseOpener() = default;

  /// What clients must know to mask their messages: sent with each welcome. Empty: nobody knows
  /// yet, and no client is welcomed.
  virtual std::string ClientsNeed() = 0;

  /// What a client has said of its own key. Throws Error if it cannot be right.
  virtual void AddKey(const std::string& client, const std::string& mask_key) = 0;

  /// Takes the masks off a closed sum, or says why nobody does (`refusal`). `clients`: the names
  /// behind its contributions. May take a second. Returns why not yet: then ask for the very same
  /// again. Empty: it is done.
  virtual std::string Open(Release& release, std::span<const std::string> clients) = 0;
};

}  // namespace polykern
