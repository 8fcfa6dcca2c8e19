#pragma once

#include <string>

namespace polykern {

/// Holds a file or a folder for this object alone, against other processes and other FileLocks,
/// until destroyed (flock). It stops only programs that ask for it. A process that dies releases
/// it; nothing is left behind but a file that was made.
class FileLock {
 public:
  enum class State {
    kHeld,
    kBusy,        ///< another has it
    kUnsupported  ///< the file system has no such locks
  };

  /// Waits until it is free. Throws Error if `path` cannot be opened or locked.
  static FileLock Wait(const std::string& path);
  /// Asks once; state() says what came of it. `path` is made, an empty file that its owner alone
  /// may open, if it does not exist. Throws Error if it cannot be opened.
  explicit FileLock(const std::string& path);

  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  State state() const { return state_; }

 private:
  FileLock(const std::string& path, bool wait);

  int descriptor_ = -1;
  State state_ = State::kHeld;
};

}  // namespace polykern
