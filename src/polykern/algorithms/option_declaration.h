#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "polykern/core/experts.h"
#include "polykern/core/losses.h"

namespace polykern {

struct AlgorithmOptions;
enum class Schedule;
enum class Experts;

/// Which field of AlgorithmOptions an option sets: its type is the option's.
using OptionField =
    std::variant<bool AlgorithmOptions::*, std::size_t AlgorithmOptions::*,
                 std::optional<std::size_t> AlgorithmOptions::*, double AlgorithmOptions::*,
                 std::optional<double> AlgorithmOptions::*, std::string AlgorithmOptions::*,
                 LossKind AlgorithmOptions::*, Weighting AlgorithmOptions::*,
                 Schedule AlgorithmOptions::*, Experts AlgorithmOptions::*>;

/// The numbers that an option may have; finite ones only.
struct OptionRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;   ///< low itself is outside
  bool high_open = false;  ///< high itself is outside

  bool Holds(double value) const;
  /// "it must be above 0", "it must lie in (0, 1]".
  std::string Rule() const;
};

/// One option of the algorithms. options.h declares each of them once; whatever reads, writes,
/// stores, sends or explains options does it by these declarations.
struct OptionDeclaration {
  std::string_view key = {};     ///< in TOML, JSON, Python: "learning_rate"
  char letter = 0;               ///< the command line's short form; 0: none
  OptionField field = {};        ///< its default is the field's
  std::string_view absent = {};  ///< what a store, state or message means that does not have the
                                 ///< option: how it was before there was one. Never changes.
  std::string_view users = {};   ///< the algorithms that use it, with blanks between; "": all
  OptionRange range = {};        ///< of numbers
  std::string_view help = {};    ///< one line, without the algorithms
  std::string_view unset = {};   ///< what no value means, where the field may have none
  std::string_view label = {};   ///< what a report calls it; "": by its key
  std::uint32_t since = 2;       ///< the version of the protocol that brought it: a new option
                                 ///< raises kProtocolVersion (net/wire.h) and has that one
};

/// True if the algorithm of that name uses the option.
bool UsesOption(std::string_view algorithm, const OptionDeclaration& option);

}  // namespace polykern
