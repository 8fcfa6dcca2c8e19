#pragma once

#include <optional>
#include <string>

namespace polykern {

/// Finished runs in a folder, each in a file of its own that is written whole or not at all, so
/// that interrupted work resumes. A run is found by its settings alone: a
/// text that must hold everything that decides the result. Threads may share a store; so may
/// programs.
class RunStore {
 public:
  explicit RunStore(std::string folder);

  /// The result kept for exactly these settings, as JSON; nothing if there is none. A file that is
  /// damaged counts as none, and its path is written to `damaged`.
  std::optional<std::string> Find(const std::string& name, const std::string& settings,
                                  std::string& damaged) const;

  /// Keeps a result, a JSON text; `name` starts the file's name and must suit one. Throws Error if
  /// it cannot be written.
  void Keep(const std::string& name, const std::string& settings, const std::string& result) const;

  /// Removes what is kept for these settings, if anything, and the folder if that leaves it empty.
  void Forget(const std::string& name, const std::string& settings) const;

 private:
  std::string folder_;
};

}  // namespace polykern
