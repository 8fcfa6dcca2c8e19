#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace polykern {

struct DownloadOptions {
  /// A connection that brings less than 100 bytes a second for so long is closed.
  std::chrono::seconds timeout{30};
  std::size_t retries = 3;                    ///< after a failure that may pass
  std::chrono::milliseconds first_wait{500};  ///< before the first retry; doubles each time
  std::uint64_t most_bytes = std::uint64_t{1} << 30U;  ///< of the whole file
};

/// Bytes there, and bytes in all (0: the server does not say).
using DownloadProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Gets `url` (http or https) into the file `path`. What an earlier call left in `path`, after a
/// break or a kill, is continued if the server can do that and still has the same file, as far as
/// its ETag or date tells; otherwise it starts over. `path` + ".from" remembers whose beginning it
/// is. Returns true if a part from before was used, whose bytes the caller should then verify.
///
/// Certificates are verified; redirects lead only to http and https, and from https only to https.
/// Throws Error: not found, cut off, stalled, no network, disk full; `path` then holds what came.
/// Blocks; two calls may not use one path at the same time.
bool Download(const std::string& url, const std::string& path, const DownloadOptions& options,
              const DownloadProgress& progress);

/// Removes what Download left.
void ForgetDownload(const std::string& path);

}  // namespace polykern
