#pragma once

#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace polykern {

struct ExpandedArguments {
  std::vector<std::string> all;
  std::map<std::string, std::string> where;  ///< "FILE, line 3" of each --option from the file
};

/// Replaces `--config FILE` by the options the TOML file holds: keys are long option names, lists
/// are allowed, and a table named like the command may hold them ([run], [data.get]). What the
/// command line says itself wins. Throws Error with file, line and key for anything the command
/// does not know.
ExpandedArguments ExpandConfigFile(const CLI::App& program,
                                   const std::vector<std::string>& arguments);

}  // namespace polykern
