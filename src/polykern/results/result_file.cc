#include "polykern/results/result_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "polykern/core/error.h"

namespace polykern {

namespace fs = std::filesystem;

void CheckWritable(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  const std::string what = error ? error.message() : std::strerror(EACCES);
  if (error || !fs::is_directory(folder) || access(folder.c_str(), W_OK | X_OK) != 0) {
    throw Error("cannot write to the folder '" + folder +
                "': " + (!error && !fs::is_directory(folder) ? "it is not a folder" : what) +
                "; choose another with " + OptionName("out"));
  }
}

void WriteResultFile(const std::string& folder, const std::string& name, const std::string& text) {
  const fs::path path = fs::path(folder) / name;
  const fs::path temporary = fs::path(folder) / ("." + name + ".tmp" + std::to_string(getpid()));
  std::ofstream file;
  // Again and again: another thread or process may remove the folder while it is empty
  // (RunStore::Forget).
  for (int tries = 1000; tries > 0; --tries) {
    errno = 0;
    file.open(temporary, std::ios::binary);
    if (file || errno != ENOENT) break;
    std::error_code ignored;
    fs::create_directories(folder, ignored);
  }
  if (!file) CheckWritable(folder);
  file << text;
  file.close();
  const int reason = errno;
  std::error_code error;
  if (file) fs::rename(temporary, path, error);
  if (!file || error) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw Error("cannot write '" + path.string() +
                "': " + (error ? error.message() : std::strerror(reason)));
  }
}

}  // namespace polykern
