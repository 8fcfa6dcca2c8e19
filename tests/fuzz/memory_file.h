#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

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
  std::vector<std::uint8_t> Read() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/dev/shm/polykern_fuzz_XXXXXX";
  int descriptor_;
};

/// What a fuzzer's input makes of a good file. First byte even: the rest is the whole file. Odd:
/// the rest are changes of the good one, three bytes each: where (16 bits, the low ones first) and
/// the new value.
inline std::vector<std::uint8_t> Damaged(const std::vector<std::uint8_t>& good,
                                         const std::uint8_t* input, std::size_t size) {
  if (size == 0) return good;
  if (input[0] % 2 == 0) return {input + 1, input + size};
  std::vector<std::uint8_t> bytes = good;
  for (std::size_t i = 1; i + 2 < size; i += 3) {
    bytes[(input[i] + 256U * input[i + 1]) % bytes.size()] = input[i + 2];
  }
  return bytes;
}

}  // namespace polykern
