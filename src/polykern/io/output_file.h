#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "polykern/io/files.h"

namespace polykern {

// Large files that come in pieces, in the folder of the data. Every failure throws Error with the
// path and the reason (a full disk, a folder that may not be written to).

/// A file being written, byte after byte, without a buffer. Use it from one thread.
class OutputFile {
 public:
  /// Opens `path` and keeps what is in it; makes it if it does not exist. `option` is the one that
  /// names another place.
  explicit OutputFile(std::string path, FileMode mode = FileMode::kUmask,
                      std::string option = "data_dir");
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Appends.
  void Write(const void* bytes, std::size_t count);
  /// Writes a first line unless something is there: of several processes that begin one file
  /// together, one does.
  void Begin(std::string_view line);
  /// Throws away all that is in it.
  void Clear();
  /// Returns when the disk has all of it.
  void Sync();

  std::uint64_t size() const { return size_; }

 private:
  [[noreturn]] void ThrowCannotWrite(int reason) const;
  void FindEnd();

  std::string path_;
  std::string option_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// Gives a file that was synced its final name, durably: a reader sees the old file or the whole
/// new one. Both paths must be in one folder.
void MoveIntoPlace(const std::string& from, const std::string& to);

/// Makes a folder, and those above it.
void MakeFolder(const std::string& path);

}  // namespace polykern
