#include "polykern/io/private_files.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "polykern/core/error.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void ThrowCannot(const std::string& path, const std::string& what, int reason) {
  const bool full = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
  const bool barred = reason == EACCES || reason == EPERM || reason == EROFS;
  throw Error(path + ": cannot be " + what + " (" + std::generic_category().message(reason) +
              "); " +
              (full     ? "make room and run the same command again"
               : barred ? "run it as the owner, or name another place"
                        : "check the path and the disk"));
}

/// The bytes are on the disk, or errno says why not.
bool WriteAll(int descriptor, std::string_view text, FileMode mode) {
  if (fchmod(descriptor, static_cast<mode_t>(mode)) != 0) return false;  // whatever the umask
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return fsync(descriptor) == 0;
}

std::string FolderOf(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

void ReplaceFile(const std::string& path, std::string_view text, FileMode mode) {
  const fs::path target(path);
  const std::string fresh =
      (target.parent_path() / ("." + target.filename().string() + ".new")).string();
  unlink(fresh.c_str());  // what a killed process left
  const int descriptor =
      open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) ThrowCannot(path, "written", errno);
  const bool written = WriteAll(descriptor, text, mode);
  int reason = errno;
  if (close(descriptor) == 0 && written && rename(fresh.c_str(), path.c_str()) == 0) {
    SyncFolder(FolderOf(path));
    return;
  }
  if (written) reason = errno;
  unlink(fresh.c_str());
  ThrowCannot(path, "written", reason);
}

std::string ReadWholeFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file && errno == ENOENT) {
    throw Error(path + ": there is no such file");
  }
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad() || !file.is_open() || fs::is_directory(path)) {
    ThrowCannot(path, "read", errno != 0 ? errno : EISDIR);
  }
  return text;
}

bool FileExists(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0) return true;
  if (errno != ENOENT && errno != ENOTDIR) ThrowCannot(path, "read", errno);
  return false;
}

void MakePrivateFolder(const std::string& path) {
  std::error_code error;
  const fs::path above = fs::path(path).parent_path();
  if (!above.empty()) fs::create_directories(above, error);
  if (error) ThrowCannot(path, "made", error.value());
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) ThrowCannot(path, "made", errno);
  if (!fs::is_directory(path, error)) ThrowCannot(path, "made", ENOTDIR);
  if (chmod(path.c_str(), 0700) != 0) ThrowCannot(path, "closed to others", errno);
}

void SyncFolder(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;  // the new name is there; only a power cut could undo it
  fsync(descriptor);
  close(descriptor);
}

FolderHold::FolderHold(const std::string& folder) {
  descriptor_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) ThrowCannot(folder, "opened", errno);
  while (flock(descriptor_, LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    const int reason = errno;
    close(descriptor_);
    ThrowCannot(folder, "locked", reason);
  }
}

FolderHold::~FolderHold() {
  close(descriptor_);
}

}  // namespace polykern
