#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace polykern {

/// Replaces `--config FILE` by the options the TOML file holds: keys are long option names, lists
/// are allowed, and a table named like the command may hold them ([run], [data.get]). What the
/// command line says itself wins. Throws Error with file, line and key for anything the command
/// does not know.
std::vector<std::string> ExpandConfigFile(const CLI::App& program,
                                          const std::vector<std::string>& arguments);

}  // namespace polykern
