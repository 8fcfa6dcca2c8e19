#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "polykern/core/error.h"

namespace polykern {

/// The archive itself is at fault: damaged, cut off, too large, or not what was promised.
class ArchiveError : public Error {
 public:
  using Error::Error;
};

/// Bounds for what a hostile archive can do.
struct UnpackOptions {
  std::uint64_t most_bytes = std::uint64_t{1} << 30U;  ///< written in all, inner archives included
  std::size_t most_members = 10'000;                   ///< looked at in all
};

/// Unpacks those members of a zip file whose base name is in `names`, wherever they lie in it, also
/// in zip files inside it (one level). Each is written to a file of a fixed hidden name in `folder`
/// and synced; `take` gets the base name and that file and may move it away; what it leaves is
/// removed. Paths in the archive are never used as paths, links are passed over, checksums in the
/// archive are verified. Throws ArchiveError, and Error if the disk fails; passes on what `take`
/// throws. Two calls may not use the same folder at the same time.
void Unpack(const std::string& archive, std::span<const std::string> names,
            const std::string& folder, const UnpackOptions& options,
            const std::function<void(const std::string& name, const std::string& file)>& take);

}  // namespace polykern
