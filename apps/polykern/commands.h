#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace polykern {

/// One function per command, each in a file of its own: adds the command with its options to the
/// program; its callback does the work and throws Error if it fails. `typed` is the whole command
/// line, which results carry so that they can be made again.
void AddRunCommand(CLI::App& program, const std::string& typed);

}  // namespace polykern
