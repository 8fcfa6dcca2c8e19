#pragma once

#include <cstddef>

#include <CLI/CLI.hpp>

namespace polykern {

/// Options and checks that agents need as well as other commands.

/// --delimiter and --decimal.
void AddFileFormOptions(CLI::App& command, char& delimiter, char& decimal);

/// Refuses anything but a whole number of at least `least`, in words a user understands.
CLI::Validator WholeNumber(std::size_t least);
/// The same of anything but a number.
CLI::Validator AnyNumber();

/// --config, which ExpandConfigFile has replaced before the parser sees it: here for --help.
void AddConfigOption(CLI::App& command);

}  // namespace polykern
