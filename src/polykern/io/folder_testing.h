#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "polykern/core/error.h"
#include "polykern/io/temporary_folder.h"

namespace polykern {

/// For tests only: a fresh folder that goes away with everything in it.
class TestFolder : public TemporaryFolder {
 public:
  /// A path below the folder.
  std::string At(const std::string& name) const { return path() + "/" + name; }

  /// Writes a file below the folder and returns its path.
  std::string Write(const std::string& name, std::string_view text) const {
    const std::filesystem::path path = At(name);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
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
