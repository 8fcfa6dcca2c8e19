#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polykern/algorithms/gram/gram_grid.h"
#include "polykern/algorithms/messages.h"

namespace polykern {

/// What came of an expert's sums in a step.
struct HeldSums {
  SampleCount count = {};
  std::uint64_t new_unknowns = 0;  ///< that were in no sum of any expert
  std::uint64_t messages = 0;      ///< each of another client
  std::uint64_t squares = 0;       ///< of the messages' numbers of samples
};

struct GramRules {
  double budget = 1000;     ///< numbers that a client may send per step, on average
  double burst = 21;        ///< steps whose budgets it may save up
  double disclosure = 0.5;  ///< numbers that are sent for each unknown of the samples, at most
  double exploration = 0.05;
  /// In a sum. Above 1, no client is in it with so many samples that the others have too few.
  double least_clients = 1;
  /// Everyone must be in a sum, so no one can add to it later: an expert is asked for, and asked
  /// for again, only when what the clients have learnt since is enough for a sum by itself.
  bool whole = false;
};

/// Whose sums the clients send, and when. Two things allow a sum. The uplink's bucket, into which a
/// budget flows with every step, can pay for its numbers; and so can the samples that are in it:
/// each brings `disclosure` tokens for each of its unknowns, and no token is spent twice. So the
/// sums over any set of samples have at most `disclosure` numbers for each of their unknowns, if
/// all clients that learnt from them send. The next expert is the one with the most weight times
/// news, as soon as it can be paid for; of a kernel one size at a time, since a larger one has the
/// sums of the smaller ones.
/// A sum is open from when it is asked for until it is closed: as soon as the samples in it can pay
/// for it, and all that was ever released is paid for by samples that were released. Who comes
/// by meanwhile adds to it.
/// Pure: the same calls give the same bits. One thread.
class GramSchedule {
 public:
  /// A sum over fewer samples is not released.
  static constexpr double kLeastSamples = 32;

  /// `expected`: in the first step. It alone counts on samples that it has not heard of.
  GramSchedule(const GramGrid& grid, const GramRules& rules, const SampleCount& expected = {});

  /// Sums of an expert came, over samples that it did not have: they are held. They may answer an
  /// earlier turn.
  void Hold(std::size_t expert, const HeldSums& came);
  /// A step ended in which the clients learnt from so many samples more, which are in the sums of
  /// its turn. After Hold.
  void Learnt(const SampleCount& fresh);
  /// Closes the sums that are held of an expert, if they may be released now: they are paid for,
  /// and what is held of the smaller sizes of its kernel is void, since clients do not send again
  /// what they have sent of a larger size. True: they are closed. After Learnt; smaller sizes
  /// first, whose samples pay for larger ones as well. `parts`: it is released in so many, of
  /// different clients, each of which may be released by itself (MayStand).
  bool Close(std::size_t expert, std::size_t parts = 1);
  /// May a sum of these messages be released by itself, if all sums together are paid for?
  bool MayStand(std::size_t expert, std::span<const Contribution> messages) const;
  /// What was closed over so many samples is part of the model; with it came the mean of the
  /// clients' weights. The smaller sizes of its kernel have what it has, if it has more.
  void Opened(std::size_t expert, double samples, std::span<const double> weights);
  /// No one may see what was closed: it has disclosed nothing.
  void Refused(std::size_t expert, double new_unknowns);
  /// What is pending, held or released counts no more, but for what experts know.
  void BeginEpoch();
  /// Per expert, samples of earlier epochs that it lacks and never gets; part of what Load does not
  /// know.
  std::span<const double> Missed() const { return missed_; }
  void SetMissed(std::span<const double> missed);
  /// What the next step asks for, upwards. To be called once per step.
  std::vector<std::uint32_t> NextTurn();

  /// Samples in an expert's released sums; 0: it never had any.
  double Samples(std::size_t expert) const { return samples_[expert]; }
  /// Of the experts: the mean over the clients, when it was last heard.
  std::span<const double> Weights() const { return weights_; }
  /// Samples in the sums that wait for more.
  double Held(std::size_t expert) const { return held_[expert]; }

  static std::size_t SavedSize(const GramGrid& grid) { return kNumbers + 3 * grid.experts(); }
  void Save(std::span<double> saved) const;
  /// `turn`: what the step asks for.
  void Load(std::span<const double> saved, std::span<const std::uint32_t> turn);

  /// What is held, and what is asked for besides the turn. If nothing is, Load knows it all.
  bool AnyHeld() const;
  static std::size_t HeldSize(const GramGrid& grid) { return 6 * grid.experts(); }
  void SaveHeld(std::span<double> saved) const;
  void LoadHeld(std::span<const double> saved);

 private:
  static constexpr std::size_t kNumbers = 7;
  enum class Sum { kNotAsked, kAsked, kPaid };

  double Priority(std::size_t expert, double pending) const;
  double NumbersOf(std::size_t expert) const {
    return static_cast<double>(grid_.NumbersOf(expert));
  }
  bool CanPay(std::size_t expert, double numbers) const;
  /// Samples that an expert has not been sent, with those of the coming step.
  double Pending(std::size_t expert) const;
  void Pay(std::size_t expert);
  void Void(std::size_t expert);
  bool IsWhole(std::size_t expert) const;
  /// False if the uplink cannot pay.
  bool Ask(std::size_t expert, std::vector<std::uint32_t>& turn);

  const GramGrid& grid_;
  GramRules rules_;
  double uplink_ = 0;
  double learnt_ = 0;
  double unknowns_ = 0;
  double last_learnt_ = 0;  // in the last step
  double last_unknowns_ = 0;
  bool few_ = false;          // came in the first step
  std::vector<Sum> sums_;     // per expert
  double spent_ = 0;          // numbers that were released
  double released_ = 0;       // unknowns of all samples in closed sums
  std::vector<double> held_;  // per expert: samples
  std::vector<double> held_unknowns_;
  std::vector<double> held_new_;      // unknowns that were in no sum before
  std::vector<double> held_clients_;  // at least so many
  std::vector<double> held_largest_;  // samples of one client, at most
  std::vector<double> samples_;       // per expert: in its released sums
  std::vector<double> missed_;        // per expert
  std::vector<double> tokens_;        // per expert: what is left of those of samples it lacks
  std::vector<double> weights_;       // per expert
};

}  // namespace polykern
