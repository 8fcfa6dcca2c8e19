#pragma once

#include <string>
#include <vector>

namespace polykern {

/// Names of clients as a command is told them: each a name, or @FILE for a file with one on each
/// line (empty lines and those that begin with # are none). `what`: the option, for messages.
/// Throws Error for what cannot be a name.
std::vector<std::string> ReadClientNames(const std::vector<std::string>& texts,
                                         const std::string& what);

}  // namespace polykern
