#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace polykern {

/// Whether bytes begin like a gzip file. No text does.
bool IsGzip(std::string_view bytes);

/// What a gzip file holds, its parts one after the other; checksums are verified. `path` is named
/// in errors. Throws Error if the file is damaged or cut off, or holds more than `most` bytes.
std::string Gunzip(std::string_view packed, const std::string& path,
                   std::size_t most = std::size_t{1} << 33U);

}  // namespace polykern
