#include "polykern/results/result_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <unistd.h>

#include "polykern/core/error.h"
#include "polykern/io/files.h"

namespace polykern {

namespace fs = std::filesystem;

void WriteResultFile(const std::string& folder, const std::string& name, const std::string& text,
                     Durable durable) {
  const std::string path = (fs::path(folder) / name).string();
  const std::error_code error = TryReplaceFile(
      path, text, {.durable = durable == Durable::kYes, .many_writers = true, .make_folder = true});
  if (!error) return;
  CheckWritable(folder);  // says more, if that is why
  throw Error("cannot write '" + path + "': " + error.message());
}

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

}  // namespace polykern
