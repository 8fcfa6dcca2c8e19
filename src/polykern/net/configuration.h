#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/options.h"

namespace polykern {

/// A column of the clients' data, and the range its values are scaled by.
struct ColumnRange {
  std::string name = {};
  double low = 0;
  double high = 1;
};

/// What a client tells of its data while the ranges are learnt.
struct ClientRanges {
  std::vector<double> least = {};     ///< of each input, in order, and last of the label
  std::vector<double> greatest = {};  ///< likewise
};

/// What a federation is: server and clients must agree on all of it, or their numbers would not
/// mean the same. A plain value.
struct FederationConfiguration {
  std::string algorithm = "pof-mkl";
  AlgorithmOptions options = {};
  /// The seed is the user's: that of `polykern run` gives the same federation.
  Problem problem = {};
  std::string scaling = "none";           ///< of the inputs: none, norm or range
  double norm = 1;                        ///< norm: what inputs are divided by
  std::vector<ColumnRange> columns = {};  ///< the inputs in order; empty: they have no names
  ColumnRange target = {};                ///< the label
  /// range: labels are scaled to [0, 1] by target's range, and clipped; none: they are used as they
  /// are. Empty: range, unless scaling is none.
  std::string labels = {};
  /// Above 0: the ranges of columns and target are not known yet, and what they say means nothing.
  /// Every client tells those of its first so many samples, see learnt_ranges.h.
  std::uint64_t learn_ranges = 0;

  /// Inputs that an agent makes itself, behind those of its samples and with columns of their own:
  /// past labels (1: the last), then a sine and a cosine of each of hour, weekday and month.
  std::vector<std::size_t> lags = {};
  std::vector<std::string> calendar = {};
  std::string time = {};  ///< the column of times, if there is a calendar

  std::size_t derived_inputs() const { return lags.size() + 2 * calendar.size(); }
  /// Those of a sample.
  std::size_t own_inputs() const { return problem.dimension - derived_inputs(); }
  bool ScalesLabels() const { return labels.empty() ? scaling != "none" : labels == "range"; }
};

/// Names and values: how a federation's configuration is stored and sent. What is not there has its
/// absent value (algorithms/options.h), so that stores and messages from before an option keep
/// their meaning.
using ConfigurationTexts = std::map<std::string, std::string>;

/// The federation's algorithm, with the features that the simulator's first repetition draws.
/// Throws Error as MakeAlgorithm does, and for a problem without inputs.
/// `clients`: that are expected in the first step; 0: nobody knows. Only its server asks.
std::unique_ptr<Algorithm> MakeAlgorithm(const FederationConfiguration& configuration,
                                         std::size_t clients = 0);

}  // namespace polykern
