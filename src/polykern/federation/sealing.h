#pragma once

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/messages.h"

namespace polykern {

/// What is done to updates between Learn and the wire, so that their server sees only sums
/// (Server::releases). Immutable: threads may share it.
class Sealing {
 public:
  Sealing() = default;
  Sealing(const Sealing&) = delete;
  Sealing& operator=(const Sealing&) = delete;
  virtual ~Sealing() = default;

  /// Seals what a cohort learnt; called once for it. Gives `learnt` itself, or `sealed`, which it
  /// may write to. Throws Error if the numbers cannot be sealed.
  virtual const Updates& Seal(const ModelShape& shape, const Updates& learnt,
                              Updates& sealed) const = 0;
};

/// None: updates are sent as they were learnt.
const Sealing& PlainSealing();

/// The server's side of it: leaves in a closed sum what may be seen of it.
class Opener {
 public:
  virtual ~Opener() = default;
  /// Changes `sums`, or says why they may not be seen (`refusal`).
  virtual void Open(Release& release) = 0;
};

}  // namespace polykern
