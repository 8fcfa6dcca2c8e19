#include "polykern/io/files.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "polykern/io/descriptor_internal.h"
#include "polykern/io/failure_internal.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;

std::error_code LastError() {
  return {errno, std::generic_category()};
}

/// A new file of its own; below 0, with errno, if it cannot be made.
Descriptor Create(const std::string& path, const WriteOptions& options) {
  unlink(path.c_str());  // what a killed process left
  const mode_t mode = options.mode == FileMode::kUmask ? 0666 : 0600;
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  // Again and again: what removes an empty folder may do so right after it was made.
  for (int tries = 1000;; --tries) {
    Descriptor file(open(path.c_str(), kFlags, mode));
    if (file.open() || errno != ENOENT || !options.make_folder || tries == 0) return file;
    std::error_code ignored;  // open says why
    fs::create_directories(FolderOf(path), ignored);
  }
}

std::error_code Fill(const Descriptor& file, std::string_view text, const WriteOptions& options) {
  if (options.mode != FileMode::kUmask &&
      fchmod(file.number(), static_cast<mode_t>(options.mode)) != 0) {
    return LastError();
  }
  std::uint64_t written = 0;
  if (!WriteAll(file.number(), text, written)) return LastError();
  if (options.durable && fsync(file.number()) != 0) return LastError();
  return {};
}

/// Where the system has no such thing, or does not let this user, a power cut could undo a new name
/// in it.
std::error_code TrySyncFolder(const std::string& path) {
  const Descriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.open() && fsync(folder.number()) == 0) return {};
  const bool unknown = errno == EINVAL || errno == EOPNOTSUPP || errno == EACCES;
  return unknown ? std::error_code() : LastError();
}

}  // namespace

std::error_code TryReplaceFile(const std::string& path, std::string_view text,
                               const WriteOptions& options) {
  const fs::path target(path);
  const std::string ending = options.many_writers ? ".tmp" + std::to_string(getpid()) : ".new";
  const std::string fresh =
      (target.parent_path() / ("." + target.filename().string() + ending)).string();
  std::error_code error;
  {
    const Descriptor file = Create(fresh, options);
    if (!file.open()) return LastError();
    error = Fill(file, text, options);
  }
  if (!error && rename(fresh.c_str(), path.c_str()) != 0) error = LastError();
  if (error) {
    unlink(fresh.c_str());
  } else if (options.durable) {
    error = TrySyncFolder(FolderOf(path));
  }
  return error;
}

void ReplaceFile(const std::string& path, std::string_view text, FileMode mode) {
  const std::error_code error = TryReplaceFile(path, text, {.mode = mode});
  if (error) ThrowCannot(path, "written", error.value());
}

std::string ReadWholeFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file && errno == ENOENT) throw Error(path + ": there is no such file; check the path");
  if (std::error_code none; fs::is_directory(path, none)) {
    ThrowCannot(path, "read", EISDIR);  // reading it would throw
  }
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad() || !file.is_open()) {
    ThrowCannot(path, "read", errno, "run it as the owner, or let this user read it");
  }
  return text;
}

std::string ReadableByOthers(const std::string& path) {
  struct stat s {};
  if (stat(path.c_str(), &s) != 0 || (s.st_mode & 044U) == 0) return {};
  return path + ": users other than its owner can read it; protect it with chmod 600";
}

bool FileExists(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0) return true;
  if (errno != ENOENT && errno != ENOTDIR) ThrowCannot(path, "read", errno);
  return false;
}

bool HasText(const std::string& path) {
  return FileExists(path) && ReadWholeFile(path) != "\n";
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
  const std::error_code error = TrySyncFolder(path);
  if (error) ThrowCannot(path, "put on the disk", error.value());
}

std::string FolderOf(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace polykern
