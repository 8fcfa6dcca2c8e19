#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "polykern/algorithms/messages.h"

namespace polykern {

/// The server's half of a sealing, for one coordinator: takes note of what arrives, and opens
/// nothing but sums.
class Opener {
 public:
  virtual ~Opener() = default;
  /// Sealed updates, which fit the sealed shape, are about to go into the open step. One thread per
  /// lane.
  virtual void Add(const Updates& sealed, std::size_t lane) = 0;
  /// The step ends: `sums` (Inbox::Sums) over what was added, which are right modulo 2^bits, become
  /// those over what was learnt. One thread.
  virtual void Open(std::span<const std::span<std::int64_t>> sums) = 0;
};

/// What is done to updates between Learn and the wire. Clients and server must have the same, with
/// whatever each of them may know. Immutable: threads may share it.
class Sealing {
 public:
  Sealing() = default;
  Sealing(const Sealing&) = delete;
  Sealing& operator=(const Sealing&) = delete;
  virtual ~Sealing() = default;

  /// What is sent in place of updates of this shape.
  virtual ModelShape SealedShape(const ModelShape& shape) const = 0;
  /// Seals what a cohort learnt; called once for it. Gives `learnt` itself, or `sealed`, which it
  /// may write to. Throws Error if the numbers cannot be sealed.
  virtual const Updates& Seal(const ModelShape& shape, const Updates& learnt,
                              Updates& sealed) const = 0;
  /// Null: there is nothing to open.
  virtual std::unique_ptr<Opener> NewOpener(const ModelShape& shape, std::size_t lanes) const = 0;
};

/// None: updates are sent as they were learnt.
const Sealing& PlainSealing();

}  // namespace polykern
