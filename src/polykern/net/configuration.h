#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "polykern/algorithms/algorithm.h"
#include "polykern/algorithms/options.h"
#include "polykern/net/configuration_texts.h"

namespace polykern {

/// A column of the clients' data, and the range its values are scaled by.
struct ColumnRange {
  std::string name = {};
  double low = 0;
  double high = 1;
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

  bool ScalesLabels() const { return labels.empty() ? scaling != "none" : labels == "range"; }
};

/// Of the algorithm's options, those that it uses and that differ from their absent values.
ConfigurationTexts ToTexts(const FederationConfiguration& configuration);

/// The same configuration, every bit of it, from texts of this version or an earlier one. Throws
/// Error for a name it does not know, one that is missing, and a value it cannot read.
FederationConfiguration FromTexts(const ConfigurationTexts& texts);

/// Texts of any version as ToTexts writes them; texts that cannot be read stay as they are.
ConfigurationTexts Canonical(const ConfigurationTexts& texts);

/// What differs, in words: "seed: 1 -> 2"; empty if nothing does. Texts that mean the same, of
/// whatever version, do not differ.
std::string Differences(const ConfigurationTexts& old, const ConfigurationTexts& now);

/// The federation's algorithm, with the features that the simulator's first repetition draws.
/// Throws Error as MakeAlgorithm does, and for a problem without inputs.
/// `clients`: that are expected in the first step; 0: nobody knows. Only its server asks.
std::unique_ptr<Algorithm> MakeAlgorithm(const FederationConfiguration& configuration,
                                         std::size_t clients = 0);

}  // namespace polykern
