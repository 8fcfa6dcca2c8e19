#include "polykern/io/output_file.h"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "polykern/core/error.h"

namespace polykern {
namespace {

[[noreturn]] void ThrowCannotWrite(const std::string& path, int reason) {
  const bool full = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
  const bool barred = reason == EACCES || reason == EPERM || reason == EROFS;
  throw Error(path + ": cannot be written (" + std::generic_category().message(reason) + "); " +
              (full     ? "make room and run the same command again"
               : barred ? "name a folder you may write to with " + OptionName("data_dir")
                        : "check the path and the disk"));
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor_ < 0) ThrowCannotWrite(path_, errno);
  const off_t end = lseek(descriptor_, 0, SEEK_END);
  size_ = end > 0 ? static_cast<std::uint64_t>(end) : 0;
}

OutputFile::~OutputFile() {
  close(descriptor_);
}

void OutputFile::Write(const void* bytes, std::size_t count) {
  const char* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t written = write(descriptor_, from, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) ThrowCannotWrite(path_, errno);
    from += written;
    count -= static_cast<std::size_t>(written);
    size_ += static_cast<std::uint64_t>(written);
  }
}

void OutputFile::Clear() {
  if (ftruncate(descriptor_, 0) != 0) ThrowCannotWrite(path_, errno);
  size_ = 0;
}

void OutputFile::Sync() {
  if (fsync(descriptor_) != 0) ThrowCannotWrite(path_, errno);
}

void MoveIntoPlace(const std::string& from, const std::string& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  if (error) ThrowCannotWrite(to, error.value());
  const std::string folder = std::filesystem::path(to).parent_path().string();
  const int descriptor =
      open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;  // the new name is there; only a power cut could undo it
  fsync(descriptor);
  close(descriptor);
}

void MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) ThrowCannotWrite(path, error.value());
  if (access(path.c_str(), W_OK | X_OK) != 0) ThrowCannotWrite(path, errno);
}

FolderLock::FolderLock(const std::string& folder) {
  descriptor_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) ThrowCannotWrite(folder, errno);
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  close(descriptor_);
  throw Error(folder + ": another polykern is getting these files now; wait until it is done");
}

FolderLock::~FolderLock() {
  close(descriptor_);
}

}  // namespace polykern
