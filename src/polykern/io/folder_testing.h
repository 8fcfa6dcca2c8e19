#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <stdlib.h>

#include "polykern/core/error.h"

namespace polykern {

/// For tests only: a fresh folder that goes away with everything in it.
class TestFolder {
 public:
  TestFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "polykern_XXXXXX").string();
    path_ = mkdtemp(pattern.data()) != nullptr ? pattern : "";
  }
  ~TestFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  /// A path below the folder.
  std::string At(const std::string& name) const { return path_ + "/" + name; }

  /// Writes a file below the folder and returns its path.
  std::string Write(const std::string& name, std::string_view text) const {
    const std::filesystem::path path = At(name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

 private:
  std::string path_;
};

/// The message of the Error that a call throws; says so if it throws none.
template <typename Call>
std::string MessageOf(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no Error was thrown";
}

}  // namespace polykern
