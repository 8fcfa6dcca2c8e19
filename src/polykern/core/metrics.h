#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace polykern {

/// Theorem 2: a client's regret is at most ln N / eta_k + eta_k T / 2 if its losses lie in [0, 1].
double RegretBound(std::size_t kernels, double weight_rate, std::size_t steps);

/// Mean and standard deviation (over the population) of some numbers; {0, 0} for none.
struct Spread {
  double mean = 0;
  double deviation = 0;
};
Spread SpreadOf(std::span<const double> values);

/// Where a label is likely to be, ends included.
struct Interval {
  double low = 0;
  double high = 0;

  bool Has(double label) const { return low <= label && label <= high; }
  double width() const { return high - low; }
  bool operator==(const Interval&) const = default;
};

/// How well a client has predicted since it was started.
struct ClientReport {
  std::uint64_t predictions = 0;  ///< whose labels it has learnt from
  double squared_error = 0;       ///< their mean, of scaled labels
  double regret = 0;              ///< against its best kernel in hindsight
  /// As squared_error, of the better naive guess (NaiveScore); 0: it is not told.
  double naive_error = 0;

  /// 1 - squared_error / naive_error: 0 is as bad as a guess, 1 is without error. None: it is
  /// not known.
  std::optional<double> skill() const {
    if (!(naive_error > 0)) return {};
    return 1 - squared_error / naive_error;
  }
};

/// Running totals of some clients: squared errors, losses, and the losses of each kernel, which
/// regret (14) is measured against. Clients are independent: threads may record different ones.
class Scoreboard {
 public:
  Scoreboard(std::size_t clients, std::size_t kernels);

  /// One prediction of one client: its squared error and loss, and the loss of each kernel.
  void Record(std::size_t client, double squared_error, double loss,
              std::span<const double> kernel_losses);

  /// All that a client's record of a whole run adds up to, where it was made elsewhere; the losses
  /// of each kernel are not known here.
  struct Totals {
    double squared_error = 0;
    double loss = 0;
    double best = 0;  ///< of the kernels' losses
    std::uint64_t steps = 0;
    bool unit_range = true;
  };
  void Set(std::size_t client, const Totals& totals) { totals_[client] = totals; }

  std::size_t clients() const { return totals_.size(); }
  std::uint64_t Steps(std::size_t client) const { return totals_[client].steps; }
  double SquaredError(std::size_t client) const { return totals_[client].squared_error; }
  /// sum_t loss - min_i sum_t L_i  (14); meaningless without kernels.
  double Regret(std::size_t client) const { return totals_[client].loss - totals_[client].best; }
  /// False once the prediction or a kernel had a loss outside [0, 1]: Theorem 2's premise.
  bool LossesInUnitRange(std::size_t client) const { return totals_[client].unit_range; }

  /// All totals as numbers, and back; Load needs a span that Save made for the same sizes.
  std::vector<double> Save() const;
  void Load(std::span<const double> saved);

 private:
  std::size_t kernels_;
  std::vector<Totals> totals_;
  std::vector<double> kernel_losses_;
};

}  // namespace polykern
