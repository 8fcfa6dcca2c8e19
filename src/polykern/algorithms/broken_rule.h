#pragma once

#include <string>

#include "polykern/core/error.h"

namespace polykern {

/// What can be wrong with an update.
enum class Rule {
  kStep,     ///< it answers a step that is not open
  kTwice,    ///< its client has answered that step already
  kClient,   ///< its client is unknown
  kLengths,  ///< its parts do not fit together
  kKernels,  ///< too many blocks, one twice, or one that does not exist
  kLosses,   ///< too few losses, or a negative one
  kNumbers,  ///< a number that is not finite, or too large
  kNorm,     ///< a block's norm is out of its bounds
  kCounts,   ///< counts of samples that cannot be
  kSums,     ///< sums that no samples have, or not those that were asked for
  kEnded,    ///< there are no more steps
  kMessage,  ///< it is not an update at all
};

/// An update was refused; `rule` says for programs what the text says for people.
class BrokenRule : public Error {
 public:
  BrokenRule(Rule broken, const std::string& text) : Error(text), rule(broken) {}

  Rule rule;
};

}  // namespace polykern
