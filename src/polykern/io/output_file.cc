#include "polykern/io/output_file.h"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "polykern/io/descriptor_internal.h"
#include "polykern/io/failure_internal.h"
#include "polykern/io/files.h"

namespace polykern {
namespace {

[[noreturn]] void ThrowCannotWrite(const std::string& path, int reason) {
  ThrowCannot(path, "written", reason,
              "name a folder you may write to with " + OptionName("data_dir"));
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
  if (!WriteAll(descriptor_, {static_cast<const char*>(bytes), count}, size_)) {
    ThrowCannotWrite(path_, errno);
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
  SyncFolder(FolderOf(to));
}

void MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) ThrowCannotWrite(path, error.value());
  if (access(path.c_str(), W_OK | X_OK) != 0) ThrowCannotWrite(path, errno);
}

}  // namespace polykern
