#pragma once

#include <string>
#include <string_view>

namespace polykern {

/// Files that hold secrets, and files that must never be seen half-written. Everything throws Error
/// with the path, the reason and what to do.

/// Who may read a file.
enum class FileMode : unsigned {
  kSecret = 0600,  ///< its owner
  kOpen = 0644,    ///< everyone who can enter the folder
};

/// Replaces a file, or makes it: whoever looks, at any moment, even after a power cut, sees the old
/// file or the whole new one, and a secret file is secret from its first byte. One writer per path
/// at a time (hold the folder).
void ReplaceFile(const std::string& path, std::string_view text, FileMode mode);

/// The whole file.
std::string ReadWholeFile(const std::string& path);

bool FileExists(const std::string& path);

/// Makes a folder, and those above it; it alone is closed to everybody but its owner.
void MakePrivateFolder(const std::string& path);

/// Returns when the disk has the folder's entries.
void SyncFolder(const std::string& path);

/// Waits until no other process holds the folder, then holds it until destroyed. A process that
/// dies lets go; no file is left behind.
class FolderHold {
 public:
  explicit FolderHold(const std::string& folder);
  ~FolderHold();
  FolderHold(const FolderHold&) = delete;
  FolderHold& operator=(const FolderHold&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace polykern
