#include "polykern/io/temporary_folder.h"

#include <filesystem>
#include <system_error>

#include <stdlib.h>

#include "polykern/core/error.h"

namespace polykern {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder(const std::string& above) {
  std::error_code error;
  const fs::path place = above.empty() ? fs::temp_directory_path(error) : fs::path(above);
  path_ = (place / "polykern-XXXXXX").string();
  if (error || mkdtemp(path_.data()) == nullptr) {
    throw Error(above.empty()
                    ? "no temporary folder can be created; set TMPDIR to a folder with room"
                    : above + ": no folder can be created there; name another");
  }
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace polykern
