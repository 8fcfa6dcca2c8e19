#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace polykern {

/// The program's commands by name. Pure functions.

/// The commands that the first arguments name, from the outside in: {data, get}; may be empty.
std::vector<const CLI::App*> FindCommands(const CLI::App& program,
                                          const std::vector<std::string>& arguments);

/// The names of the commands below this one, with commas.
std::string CommandNames(const CLI::App& command);

/// Whether there is nothing to choose: then the command's name is not typed.
bool HasOneCommand(const CLI::App& program);

/// What is typed: "polykern data get" for {data, get}.
std::string CommandText(const CLI::App& program, const std::vector<const CLI::App*>& commands);

/// `did you mean "join"?`, or all commands where none is near.
std::string SuggestCommand(const CLI::App& command, const std::string& wanted);

/// For an option that stands before any command: which command has it. Empty if none has.
std::string SuggestCommandWith(const CLI::App& command, const std::string& option);

/// `; did you mean "--steps"?`, for an option that the command does not have ("--step", or "step"
/// as in a TOML file); empty if no option is near.
std::string SuggestOption(const CLI::App& command, const std::string& wanted);

}  // namespace polykern
