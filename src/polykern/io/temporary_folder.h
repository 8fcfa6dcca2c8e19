#pragma once

#include <string>

namespace polykern {

/// A folder of its own, removed with everything in it when this is destroyed.
class TemporaryFolder {
 public:
  /// In the folder `above`; empty: where temporary files go. Throws Error if it cannot be made.
  explicit TemporaryFolder(const std::string& above = "");
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace polykern
