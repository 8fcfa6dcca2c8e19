#pragma once

#include <chrono>
#include <cstddef>
#include <string>

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

/// --server; HOST alone means HOST:7433.
CLI::Option& AddServerOption(CLI::App& command, std::string& server, const std::string& help);

/// --keepalive, in seconds.
CLI::Option& AddKeepaliveOption(CLI::App& command, double& seconds);
std::chrono::milliseconds Milliseconds(double seconds);

}  // namespace polykern
