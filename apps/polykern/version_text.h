#pragma once

#include <string>

namespace polykern {

/// What --version of a program prints: its name, the version, and that of its package, if it is of
/// one.
std::string VersionText(const std::string& program);

}  // namespace polykern
