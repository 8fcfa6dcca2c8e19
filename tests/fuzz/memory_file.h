#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <unistd.h>

namespace polykern {

/// A file in memory, for readers that want a path.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(mkstemp(path_.data())) {
    if (descriptor_ < 0) std::abort();
  }
  ~MemoryFile() {
    close(descriptor_);
    unlink(path_.c_str());
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  void Write(const std::uint8_t* data, std::size_t size) const {
    if (ftruncate(descriptor_, 0) != 0 ||
        pwrite(descriptor_, data, size, 0) != static_cast<ssize_t>(size)) {
      std::abort();
    }
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/dev/shm/polykern_fuzz_XXXXXX";
  int descriptor_;
};

}  // namespace polykern
