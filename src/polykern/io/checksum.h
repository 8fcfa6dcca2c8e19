#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace polykern {

/// SHA-256. Throws Error if OpenSSL cannot.
std::array<std::byte, 32> Sha256(std::span<const std::byte> bytes);

/// The SHA-256 of a file as 64 hexadecimal digits in small letters. Throws Error if the file cannot
/// be read.
std::string Sha256OfFile(const std::string& path);

/// FNV-1a of 64 bits as 16 such digits: finds and notices damage, but does not keep an attacker
/// from making two texts with one sum. It is part of the names of kept files, and never changes.
std::string Fnv1a(std::string_view text);

}  // namespace polykern
