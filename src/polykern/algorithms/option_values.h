#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "polykern/algorithms/options.h"

// Reads, writes and checks options by their declarations. Pure functions: threads may share them.

namespace polykern {

/// Is it one number, rather than a text, a name or yes and no?
bool IsNumber(const OptionDeclaration& option);

/// Is its value the 0 that the declaration has a name for?
bool HasNamedZero(const OptionDeclaration& option, const AlgorithmOptions& options);

/// The option's value as a text: numbers keep every bit, no value is "".
std::string OptionText(const OptionDeclaration& option, const AlgorithmOptions& options);

/// What an option may be that has names for its values; nothing for any other.
std::vector<std::string> OptionChoices(const OptionDeclaration& option);

/// "'x' is not a number": what is wrong with a text typed for the option; "":
/// nothing. Whole numbers must not be below their range.
std::string OptionComplaint(const OptionDeclaration& option, std::string_view text);

/// Sets the option by such a text. Throws Error, naming the option, for a text that is not of its
/// type; CheckRange judges the number.
void SetOption(const OptionDeclaration& option, std::string_view text, AlgorithmOptions& options);

/// Throws Error, naming the option, if its value is a number out of its range.
void CheckRange(const OptionDeclaration& option, const AlgorithmOptions& options);

/// Every option at its absent value.
AlgorithmOptions AbsentOptions();

/// Throws Error, naming the option, if a setting is out of its range or the uplink over the budget.
void CheckOptions(const AlgorithmOptions& options, const Uplink& uplink);

}  // namespace polykern
