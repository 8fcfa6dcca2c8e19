#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "polykern/algorithms/algorithm.h"
#include "polykern/core/error.h"
#include "polykern/net/rounds/front.h"
#include "polykern/net/rounds/rounds_options.h"

namespace polykern {

struct StepEnderOptions {
  std::string place = {};   ///< what follows postgresql: in the store's URL
  std::uint64_t front = 0;  ///< this process's number among the front ends
};

/// Ends the steps of a federation that has several front ends, if it is this process's turn: one of
/// them all is the one that holds a lock of the database, and another one follows when it is gone.
/// It adds up what they have handed in, and writes the step and the model after it in one
/// transaction.
///
/// Works from construction to destruction, on a thread of its own. Nothing throws. Any thread may
/// call anything.
class StepEnder {
 public:
  /// Algorithm, and observer and opener of the rounds, must outlive it.
  StepEnder(const StepEnderOptions& options, const Algorithm& algorithm,
            const RoundsOptions& rounds);
  ~StepEnder();

  /// What Rounds::Change takes over; the rest stays.
  void Change(const RoundsOptions& rounds);

  /// Why it cannot end steps for now; empty: it can, or another one does.
  std::string trouble() const;
  /// Why no step can ever be ended again.
  std::optional<Error> failure() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace polykern
