#pragma once

#include <filesystem>
#include <string>

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

  /// A path below the folder.
  std::string At(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// The message of the Error that a call throws; says so if it throws none.
template <typename Call>
std::string Complaint(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no Error was thrown";
}

}  // namespace polykern
