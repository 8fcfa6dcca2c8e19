#include "polykern/io/output_file.h"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "polykern/io/descriptor_internal.h"
#include "polykern/io/failure_internal.h"
#include "polykern/io/files.h"

namespace polykern {
namespace {

[[noreturn]] void ThrowCannotWriteTo(const std::string& path, int reason,
                                     const std::string& option) {
  const std::string what = option == "data_dir" ? "folder" : "file";
  ThrowCannot(path, "written", reason,
              "name a " + what + " you may write to with " + OptionName(option));
}

}  // namespace

OutputFile::OutputFile(std::string path, FileMode mode, std::string option)
    : path_(std::move(path)), option_(std::move(option)) {
  constexpr int kHow = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
  descriptor_ = open(path_.c_str(), kHow, static_cast<unsigned>(mode));
  if (descriptor_ < 0) ThrowCannotWrite(errno);
  FindEnd();
}

void OutputFile::FindEnd() {
  const off_t end = lseek(descriptor_, 0, SEEK_END);
  size_ = end > 0 ? static_cast<std::uint64_t>(end) : 0;
}

void OutputFile::Begin(std::string_view line) {
  flock(descriptor_, LOCK_EX);  // where a disk knows no locks, two lines at worst
  FindEnd();
  const bool good = size_ > 0 || WriteAll(descriptor_, line, size_);
  const int reason = errno;
  flock(descriptor_, LOCK_UN);
  if (!good) ThrowCannotWrite(reason);
}

void OutputFile::ThrowCannotWrite(int reason) const {
  ThrowCannotWriteTo(path_, reason, option_);
}

OutputFile::~OutputFile() {
  close(descriptor_);
}

void OutputFile::Write(const void* bytes, std::size_t count) {
  if (!WriteAll(descriptor_, {static_cast<const char*>(bytes), count}, size_)) {
    ThrowCannotWrite(errno);
  }
}

void OutputFile::Clear() {
  if (ftruncate(descriptor_, 0) != 0) ThrowCannotWrite(errno);
  size_ = 0;
}

void OutputFile::Sync() {
  if (fsync(descriptor_) != 0) ThrowCannotWrite(errno);
}

void MoveIntoPlace(const std::string& from, const std::string& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  if (error) ThrowCannotWriteTo(to, error.value(), "data_dir");
  SyncFolder(FolderOf(to));
}

void MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) ThrowCannotWriteTo(path, error.value(), "data_dir");
  if (access(path.c_str(), W_OK | X_OK) != 0) ThrowCannotWriteTo(path, errno, "data_dir");
}

}  // namespace polykern
