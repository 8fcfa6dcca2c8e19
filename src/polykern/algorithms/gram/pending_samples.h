#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "polykern/algorithms/messages.h"

namespace polykern {

/// Which of a client's samples each expert's sums still lack: a view of numbers in its state, which
/// start at 0. What was sent waits until it is known whether it counted (Settle).
class PendingSamples {
 public:
  static std::size_t StateSize(std::size_t experts) { return kNumbers + experts; }

  PendingSamples(std::span<double> state, std::uint64_t most_samples, std::uint64_t kept)
      : numbers_(state.first(kNumbers)),
        since_(state.subspan(kNumbers)),
        most_samples_(most_samples),
        kept_(kept) {}

  /// Samples that were learnt from so far, and their number among them: numbered from 0.
  std::uint64_t learnt() const { return Whole(kLearnt); }
  void Learn(std::uint64_t unknowns) {
    numbers_[kLearnt] += 1;
    numbers_[kUnknowns] += static_cast<double>(unknowns);
  }
  /// What was learnt from since the last update that counted.
  SampleCount fresh() const {
    return {Whole(kLearnt) - Whole(kToldLearnt), Whole(kUnknowns) - Whole(kToldUnknowns)};
  }

  /// The samples of the next sum of an expert: begin .. end - 1; older ones are no longer kept.
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  Range Next(std::size_t expert) const;

  /// Samples before this one were in sums that counted, of one expert or another.
  std::uint64_t reach() const { return Whole(kReach); }

  /// An update is about to leave with the next sums of these experts.
  void Send(std::span<const std::uint32_t> experts);
  /// What left last was counted, or was not and stays pending. `sizes`: experts of one
  /// kernel, in a row, of which each has the sums of those before it.
  void Settle(bool counted, std::size_t sizes);
  /// Only samples that were in no update, counted or not, are pending from here on.
  void BeginEpoch();

 private:
  enum Number : std::size_t {
    kLearnt,
    kUnknowns,
    kToldLearnt,  // with the last update that counted
    kToldUnknowns,
    kSentLearnt,  // with the update whose fate is not known; 0: there is none
    kSentUnknowns,
    kReach,
    kNumbers
  };

  std::uint64_t Whole(Number which) const { return static_cast<std::uint64_t>(numbers_[which]); }

  std::span<double> numbers_;
  std::span<double> since_;  // per expert: the first sample it lacks; -1 - that while it is sent
  std::uint64_t most_samples_;
  std::uint64_t kept_;
};

}  // namespace polykern
