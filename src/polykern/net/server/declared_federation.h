#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "polykern/net/configuration.h"

namespace polykern {

/// The algorithm of a new federation for which none is declared.
inline constexpr const char* kAlgorithmOfNew = "pof-gram";

/// What a server is told about its federation, by a command line or in Python, about data that it
/// will never see. What it is not told comes from its store, or is the default.
struct DeclaredFederation {
  /// The store of the federation from which a new one begins: what is not declared is as there, and
  /// clients use its last model beside what they learn. Empty: it begins with nothing.
  std::string from = {};
  std::optional<std::string> algorithm = {};
  std::map<std::string, std::string> options = {};  ///< keys and texts, see SetOption
  std::optional<std::size_t> dimension = {};        ///< for inputs without names
  std::vector<std::string> columns = {};            ///< the inputs in order
  std::vector<ColumnRange> ranges = {};             ///< of each of them, with scaling range
  std::optional<std::string> scaling = {};          ///< none, norm or range
  std::optional<double> norm = {};
  std::optional<std::string> target = {};  ///< its name
  std::optional<ColumnRange> target_range = {};
  bool plain_labels = false;  ///< in place of a target range: labels are used as they are
  /// In place of all ranges: they are learnt from so many samples of each client. A store that has
  /// ranges keeps them.
  std::optional<std::uint64_t> learn_ranges = {};
  /// Inputs that agents make themselves, behind the columns; see FederationConfiguration.
  std::optional<std::vector<std::size_t>> lags = {};
  std::optional<std::vector<std::string>> calendar = {};
  std::optional<std::string> time = {};
  std::optional<std::vector<std::string>> categories = {};
  std::optional<std::string> missing = {};  ///< drop or impute
  std::optional<std::size_t> ahead = {};    ///< Problem::ahead
  std::optional<std::size_t> horizon = {};
  std::optional<std::uint64_t> seed = {};
  std::vector<std::string> clients = {};  ///< all of them, which pairwise masks need to know
};

/// What the federation is. `stored`: what a store says; without one everything that has no default
/// must be declared, and the horizon is `steps`, or kEndlessHorizon if that is 0, unless declared.
/// Throws Error for what is wrong or missing, and for what is said about the data without effect;
/// options that the algorithm does not use are left out, see OptionsWithoutEffect. Plain labels are
/// clipped to [0, 1] for an algorithm that needs them there, by a target range of 0:1. A new
/// federation with times, lags or a calendar forgets as each client's stream wants it
/// (kAutoForgetting), unless that is declared, or labels are predicted more than one step ahead.
FederationConfiguration Complete(const DeclaredFederation& declared,
                                 const std::optional<FederationConfiguration>& stored,
                                 std::uint64_t steps);

/// The same for the store in that file, which need not exist: a new one begins from
/// DeclaredFederation::from, and one that exists has done so before. Whether the store may have
/// what it says is for Store to judge.
FederationConfiguration CompleteForStore(const DeclaredFederation& declared,
                                         const std::string& store, std::uint64_t steps);

/// For RoundsOptions::least_clients, where the option of that name says it for a step as well as
/// for a sum. Throws Error unless it is a whole number.
std::uint64_t LeastClientsOfStep(const DeclaredFederation& declared);

/// The keys of declared options that have no effect with the algorithm.
std::vector<std::string> OptionsWithoutEffect(const DeclaredFederation& declared,
                                              const std::string& algorithm);

}  // namespace polykern
