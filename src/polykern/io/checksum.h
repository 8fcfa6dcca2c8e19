#pragma once

#include <string>

namespace polykern {

/// The SHA-256 of a file as 64 hexadecimal digits in small letters. Throws Error if the file cannot
/// be read.
std::string Sha256OfFile(const std::string& path);

}  // namespace polykern
