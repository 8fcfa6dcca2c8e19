#pragma once

#include <string>
#include <string_view>
#include <system_error>

namespace polykern {

// Whole files, and folders. What throws, throws Error with the path, the reason and what to do.
// Threads and processes may call all of it at the same time, but for what WriteOptions says.

/// Who may read a file.
enum class FileMode : unsigned {
  kSecret = 0600,  ///< its owner
  kOpen = 0644,    ///< everyone who can enter the folder
  kUmask = 0666,   ///< as the user's umask has it
};

struct WriteOptions {
  FileMode mode = FileMode::kUmask;
  /// The disk has the file when the call returns; also after a power cut there is the old file or
  /// the whole new one. Without it that holds as long as the machine runs.
  bool durable = true;
  /// Several processes may replace this path at the same time; one that is killed may leave
  /// ".NAME.tmp" and its number behind. Otherwise one at a time (hold a FileLock), and the next one
  /// removes what a killed process left.
  bool many_writers = false;
  /// Makes the folder if it is missing, even if others keep removing it while it is empty.
  bool make_folder = false;
};

/// Replaces a file, or makes it: a reader sees the old file or the whole new one, never a half, and
/// a secret file is secret from its first byte. If it fails, nothing has changed and nothing is
/// left behind; but if the disk fails at the very end, the new file may be there.
std::error_code TryReplaceFile(const std::string& path, std::string_view text,
                               const WriteOptions& options);

/// The same, durable and by one writer at a time; throws.
void ReplaceFile(const std::string& path, std::string_view text, FileMode mode);

/// The whole file.
std::string ReadWholeFile(const std::string& path);

/// Why a file that is to be its owner's alone is not, and what to do about it; empty: it is.
std::string ReadableByOthers(const std::string& path);

/// A link counts, wherever it points.
bool FileExists(const std::string& path);

/// There is such a file, with more in it than an empty line, which is what a service's unit has in
/// place of a credential that is missing.
bool HasText(const std::string& path);

/// Makes a folder, and those above it; it alone is closed to everyone but its owner.
void MakePrivateFolder(const std::string& path);

/// Returns when the disk has the folder's entries. Throws Error if it fails.
void SyncFolder(const std::string& path);

/// The folder that a path is in; "." if it names none.
std::string FolderOf(const std::string& path);

}  // namespace polykern
