#pragma once

#include <cstddef>

#include "polykern/net/rounds/rounds_core.h"

namespace polykern {

/// How rounds open the sums that a step has closed, where masks or noise are between: it is written
/// that nothing joins them any more, they are opened, and the model after them is written.
class OpeningPhase {
 public:
  explicit OpeningPhase(RoundsCore& core);

  /// The server was stopped before their masks were off.
  void Resume();
  /// The step is on the disk, with its sums closed.
  void Begin(const EndedStep& step);
  /// Opens one of them, without the lock; after the last one the step is to be written again.
  /// False: not yet, or all is lost.
  bool OpenNext(RoundsLock& lock);
  /// A model is published.
  void End() { resumed_ = false; }

  /// No client gets a model that may be replaced in a moment, or that it cannot answer.
  bool delays_welcomes() const { return resumed_ || lacks_key_; }
  /// To be called from time to time: what clients need to know may have come.
  void WelcomeThoseWhoWait();

 private:
  bool LacksKey() const;

  RoundsCore& core_;
  EndedStep closed_;        // while its sums are opened: all but its state
  std::size_t opened_ = 0;  // of these sums
  bool resumed_ = false;    // no client has a model yet
  bool lacks_key_;          // no client can be welcomed without it
};

}  // namespace polykern
