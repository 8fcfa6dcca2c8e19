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

inline constexpr std::size_t kMostTexts = 32;  ///< of a column that are inputs

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

/// A column of texts: an input for each of them, or, if none are named, kMostTexts inputs that all
/// texts share by their hash.
struct TextColumn {
  std::string name = {};
  std::vector<std::string> texts = {};

  std::size_t inputs() const { return texts.empty() ? kMostTexts : texts.size(); }
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

  /// With masks: what tells this federation from any other, drawn when its store is made, and how
  /// often its masks have started again (new_epoch.h).
  std::string federation_id = {};
  std::uint64_t epoch = 0;
  std::uint64_t epoch_begin = 0;  ///< the step at which it began
  /// With pairwise masks: all clients, by number; a sum is over all of them, or garbage.
  std::vector<std::string> clients = {};

  /// Inputs that an agent makes itself, with columns of their own (made_inputs.h): of past labels
  /// (1: the last), and a sine and a cosine of each of hour, weekday and month.
  std::vector<std::size_t> lags = {};
  std::vector<std::string> calendar = {};
  std::string time = {};                     ///< the column of times, if there is one
  std::vector<std::string> categories = {};  ///< columns of texts, see ParseTextColumn
  /// impute: a missing input is the mean of the client's samples so far, and is marked. Empty: a
  /// sample without a value cannot be used.
  std::string missing = {};

  /// Where it began from another federation: that one's last model, which clients use beside what
  /// they learn (ExportToText). Empty: it did not.
  std::string from = {};
  /// With noise, if that one had some: epsilon of both together; the options' is what was left.
  double total_epsilon = 0;

  bool imputes() const { return missing == "impute"; }
  std::vector<TextColumn> text_columns() const;
  /// That a row of a client's stream enters: its own, and as a past label later ones.
  std::size_t samples_per_row() const { return 1 + lags.size(); }
  std::size_t derived_inputs() const { return lags.size() + 2 * calendar.size(); }
  bool makes_inputs() const { return derived_inputs() > 0 || !categories.empty() || imputes(); }
  /// The columns of a sample: how many, and their names, if they have some (made_inputs.cc).
  std::size_t own_inputs() const;
  std::vector<std::string> own_columns() const;
  bool ScalesLabels() const { return labels.empty() ? scaling != "none" : labels == "range"; }
};

/// Names and values: how a federation's configuration is stored and sent. What is not there has its
/// absent value (algorithms/options.h), so that stores and messages from before an option keep
/// their meaning.
using ConfigurationTexts = std::map<std::string, std::string>;

/// The federation's algorithm, with the features that the simulator's first repetition draws.
/// Throws Error as MakeAlgorithm does, and for a problem without inputs.
/// `clients`: that are expected in the first step; 0: unknown. Only its server asks.
std::unique_ptr<Algorithm> MakeAlgorithm(const FederationConfiguration& configuration,
                                         std::size_t clients = 0);

}  // namespace polykern
