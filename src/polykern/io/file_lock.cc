#include "polykern/io/file_lock.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "polykern/io/failure_internal.h"

namespace polykern {

FileLock FileLock::Wait(const std::string& path) {
  return {path, true};
}

FileLock::FileLock(const std::string& path) : FileLock(path, false) {}

FileLock::FileLock(const std::string& path, bool wait) {
  descriptor_ = open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor_ < 0 && errno == EISDIR) {
    descriptor_ = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  if (descriptor_ < 0) ThrowCannot(path, "opened", errno);
  while (flock(descriptor_, wait ? LOCK_EX : LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    const int reason = errno;
    state_ = reason == EWOULDBLOCK ? State::kBusy : State::kUnsupported;
    close(std::exchange(descriptor_, -1));
    if (wait) ThrowCannot(path, "locked", reason);
    return;
  }
}

FileLock::FileLock(FileLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), state_(other.state_) {}

FileLock::~FileLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace polykern
