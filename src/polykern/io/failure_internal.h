#pragma once

#include <cerrno>
#include <string>
#include <system_error>

#include "polykern/core/error.h"

namespace polykern {

/// Throws Error: what cannot be done with a path, why (an errno), and what to do about it.
[[noreturn]] inline void ThrowCannot(const std::string& path, const std::string& what, int reason,
                                     const std::string& if_barred) {
  const bool full = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
  const bool barred = reason == EACCES || reason == EPERM || reason == EROFS;
  throw Error(path + ": cannot be " + what + " (" + std::generic_category().message(reason) +
              "); " +
              (full               ? "make room and run the same command again"
               : barred           ? if_barred
               : reason == ENOENT ? "check the path: its folder must be there"
                                  : "check the path and the disk"));
}
[[noreturn]] inline void ThrowCannot(const std::string& path, const std::string& what, int reason) {
  ThrowCannot(path, what, reason, "run it as the owner, or name another place");
}

}  // namespace polykern
