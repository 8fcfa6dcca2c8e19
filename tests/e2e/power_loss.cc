// A disk that loses its power: with this library preloaded (LD_PRELOAD) every change of a file
// below the folder POLYKERN_POWER_FOLDER, and every wait for the disk, is also written to the file
// POLYKERN_POWER_LOG, and the process is killed in the midst of change number POLYKERN_POWER_LOSS,
// counted from 1 (0: never). power.py makes of that log what a disk may have then.
//
// A record is a byte for its kind, the lengths of its path and of its bytes, an offset, and both.

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

struct Log {
  std::mutex mutex;
  std::string folder;
  int descriptor = -1;
  long left = 0;  // changes until the power is lost; 0: it is not

  Log() {
    const char* const below = std::getenv("POLYKERN_POWER_FOLDER");
    const char* const path = std::getenv("POLYKERN_POWER_LOG");
    const char* const loss = std::getenv("POLYKERN_POWER_LOSS");
    if (below == nullptr || path == nullptr) return;
    folder = std::string(below) + "/";
    left = loss == nullptr ? 0 : std::atol(loss);
    descriptor = static_cast<int>(
        syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  }

  void Put(const void* bytes, std::size_t count) const {
    if (syscall(SYS_write, descriptor, bytes, count) != static_cast<long>(count)) abort();
  }
};

Log& TheLog() {
  static Log log;
  return log;
}

/// Empty: it is none of ours. What SQLite maps into memory, and locks, need not outlast anything.
std::string PathOf(int descriptor) {
  const int error = errno;
  std::array<char, PATH_MAX> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t size = readlink(link.c_str(), path.data(), path.size());
  errno = error;
  std::string found(path.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
  const std::string& folder = TheLog().folder;
  if (folder.empty() || (!found.starts_with(folder) && found + "/" != folder)) return {};
  for (const char* other : {"-shm", "-lock", "-control"}) {
    if (found.ends_with(other)) return {};
  }
  return found + "/" == folder ? "." : found.substr(folder.size());
}

/// 'w'rite, 't'runcate, 's'ync, 'c'reate, 'u'nlink, 'r'ename (the bytes are the new path).
void Note(char kind, const std::string& path, const void* bytes, std::size_t count,
          std::uint64_t offset) {
  Log& log = TheLog();
  const std::lock_guard lock(log.mutex);
  const std::array<std::uint64_t, 3> head = {path.size(), count, offset};
  std::string record(1, kind);
  record.append(reinterpret_cast<const char*>(head.data()), sizeof head);
  record += path;
  if (count > 0) record.append(static_cast<const char*>(bytes), count);
  log.Put(record.data(), record.size());
  if (kind != 's' && log.left > 0 && --log.left == 0) raise(SIGKILL);
}

ssize_t WriteAt(int file, const void* bytes, std::size_t count, std::int64_t offset) {
  if (const std::string path = PathOf(file); !path.empty()) {
    Note('w', path, bytes, count, static_cast<std::uint64_t>(offset));
  }
  return syscall(SYS_pwrite64, file, bytes, count, offset);
}

int Truncate(int file, std::int64_t size) {
  if (const std::string path = PathOf(file); !path.empty()) {
    Note('t', path, nullptr, 0, static_cast<std::uint64_t>(size));
  }
  return static_cast<int>(syscall(SYS_ftruncate, file, size));
}

/// The disk has it before it is noted.
int Sync(int file) {
  const int done = static_cast<int>(syscall(SYS_fsync, file));
  if (const std::string path = PathOf(file); done == 0 && !path.empty()) {
    Note('s', path, nullptr, 0, 0);
  }
  return done;
}

int Open(int at, const char* path, int flags, mode_t mode) {
  const bool makes = (flags & O_CREAT) != 0 && faccessat(at, path, F_OK, 0) != 0;
  const int file = static_cast<int>(syscall(SYS_openat, at, path, flags, mode));
  if (file < 0) return file;
  if (const std::string own = PathOf(file); !own.empty()) {
    if (makes) Note('c', own, nullptr, 0, 0);
    if ((flags & O_TRUNC) != 0) Note('t', own, nullptr, 0, 0);
  }
  return file;
}

mode_t ModeOf(int flags, std::va_list more) {
  return (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
}

std::string Below(const char* path) {
  std::array<char, PATH_MAX> folder{};
  const char* const slash = std::strrchr(path, '/');
  const std::string parent = slash == nullptr ? "." : std::string(path, slash);
  if (realpath(parent.c_str(), folder.data()) == nullptr) return {};
  const std::string whole =
      std::string(folder.data()) + "/" + (slash == nullptr ? path : slash + 1);
  const std::string& own = TheLog().folder;
  return own.empty() || !whole.starts_with(own) ? "" : whole.substr(own.size());
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are libc's.
extern "C" {

ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
  return WriteAt(file, bytes, count, offset);
}
ssize_t pwrite64(int file, const void* bytes, size_t count, off64_t offset) {
  return WriteAt(file, bytes, count, offset);
}
ssize_t write(int file, const void* bytes, size_t count) {
  if (const std::string path = PathOf(file); !path.empty()) {
    const long offset = syscall(SYS_lseek, file, 0, SEEK_CUR);
    Note('w', path, bytes, count, static_cast<std::uint64_t>(offset));
  }
  return syscall(SYS_write, file, bytes, count);
}
int ftruncate(int file, off_t size) {
  return Truncate(file, size);
}
int ftruncate64(int file, off64_t size) {
  return Truncate(file, size);
}
int fsync(int file) {
  return Sync(file);
}
int fdatasync(int file) {
  return Sync(file);
}
int open(const char* path, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const mode_t mode = ModeOf(flags, more);
  va_end(more);
  return Open(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const mode_t mode = ModeOf(flags, more);
  va_end(more);
  return Open(AT_FDCWD, path, flags, mode);
}
int unlink(const char* path) {
  if (const std::string own = Below(path); !own.empty() && !own.ends_with("-control")) {
    Note('u', own, nullptr, 0, 0);
  }
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}
int rename(const char* from, const char* to) {
  const std::string own = Below(from);
  if (const std::string goal = Below(to); !own.empty() && !goal.empty()) {
    Note('r', own, goal.data(), goal.size(), 0);
  }
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
