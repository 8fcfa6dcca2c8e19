#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "polykern/core/error.h"
#include "polykern/io/files.h"
#include "polykern/net/pki/client_folder_internal.h"

namespace polykern {

namespace fs = std::filesystem;

NewClientFolder::NewClientFolder(const fs::path& place) {
  std::error_code error;
  if (place.has_parent_path()) fs::create_directories(place.parent_path(), error);
  path_ = (place.parent_path() / ("." + place.filename().string() + ".XXXXXX")).string();
  if (error || mkdtemp(path_.data()) == nullptr || chmod(path_.c_str(), 0700) != 0) {
    const int reason = error ? error.value() : errno;
    path_.clear();
    throw Error(place.string() + ": the folder cannot be made (" +
                std::generic_category().message(reason) + "); name another with " +
                OptionName("out"));
  }
}

NewClientFolder::~NewClientFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

void NewClientFolder::MoveTo(const fs::path& place) {
  const bool exchange = FileExists(place.string());
  if (renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, place.c_str(),
                exchange ? RENAME_EXCHANGE : RENAME_NOREPLACE) != 0) {
    throw Error(place.string() + ": the folder cannot be put in place (" +
                std::generic_category().message(errno) + "); issue it again with " +
                OptionName("renew") + " and another " + OptionName("out"));
  }
  SyncFolder(place.has_parent_path() ? place.parent_path().string() : ".");
  if (!exchange) path_.clear();
}

void CheckReplaceable(const fs::path& place, const std::string& whose) {
  if (!FileExists(place.string())) return;
  std::error_code error;
  const fs::directory_iterator files(place, error);
  const bool good = !error && std::ranges::all_of(files, [&](const fs::directory_entry& entry) {
    const std::string name = entry.path().filename().string();
    return name == whose + ".crt" || name == whose + ".key" || name == "ca.crt" ||
           name == "mask.key" || (whose == "helper" && name == "ca.crl");
  });
  if (good) return;
  throw Error(place.string() + ": already exists and is not a " + whose +
              "'s folder; name another with " + OptionName("out"));
}

}  // namespace polykern
