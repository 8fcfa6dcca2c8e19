#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polykern/algorithms/gram/gram_grid.h"
#include "polykern/algorithms/messages.h"

namespace polykern {

struct GramRules {
  double budget = 1000;     ///< numbers that a client may send per step, on average
  double burst = 21;        ///< steps whose budgets it may save up
  double disclosure = 0.5;  ///< numbers that are sent for each unknown of the samples, at most
  double exploration = 0.05;
};

/// Whose sums the clients send, and when. Two things allow a sum. The uplink's bucket, into which a
/// budget flows with every step, can pay for its numbers; and so can the samples that are in it:
/// each brings `disclosure` tokens for each of its unknowns, and no token is spent twice. So the
/// sums over any set of samples have at most `disclosure` numbers for each of their unknowns, if
/// all clients that learnt from them send. The next expert is the one with the most weight times
/// news, as soon as it can be paid for; of a kernel one size at a time, since a larger one has the
/// sums of the smaller ones. Pure: the same calls give the same bits. One thread.
class GramSchedule {
 public:
  /// A sum over fewer samples is not asked for.
  static constexpr double kLeastSamples = 32;

  /// `expected`: in the first step. It alone counts on samples that it has not heard of.
  GramSchedule(const GramGrid& grid, const GramRules& rules, const SampleCount& expected = {});

  /// Can the last turn be paid for if the clients learnt from so many samples more? If not, its
  /// sums must not be released.
  bool Covers(const SampleCount& fresh) const;
  /// A step ended in which the clients learnt from so many samples more, which are in the sums of
  /// its turn.
  void Learnt(const SampleCount& fresh, std::span<const std::uint32_t> turn);
  /// The sums of an expert came, over so many samples that it did not have; with them the sum of
  /// the clients' weights.
  void Released(std::size_t expert, double samples, std::span<const double> weights);
  /// What the next step asks for, upwards. To be called once per step.
  std::vector<std::uint32_t> NextTurn();

  /// Samples in an expert's sums; 0: it never had a turn.
  double Samples(std::size_t expert) const { return samples_[expert]; }

  static std::size_t SavedSize(const GramGrid& grid) { return kNumbers + 3 * grid.experts(); }
  void Save(std::span<double> saved) const;
  void Load(std::span<const double> saved);

 private:
  static constexpr std::size_t kNumbers = 5;

  double Priority(std::size_t expert, double pending) const;
  void Pay(std::size_t expert);

  const GramGrid& grid_;
  GramRules rules_;
  double uplink_ = 0;
  double learnt_ = 0;
  double unknowns_ = 0;
  double last_learnt_ = 0;  // in the last step
  double last_unknowns_ = 0;
  std::vector<double> samples_;  // per expert: in its sums
  std::vector<double> tokens_;   // per expert: what is left of those of samples it lacks
  std::vector<double> weights_;  // per expert: the mean over the clients, when it was last heard
};

}  // namespace polykern
