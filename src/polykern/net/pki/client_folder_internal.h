#pragma once

#include <filesystem>
#include <string>

namespace polykern {

/// A client's or helper's folder in the making: under a name that no program looks for, and removed
/// with everything in it unless it is put in its place. Throws Error. Use it from one thread.
class NewClientFolder {
 public:
  explicit NewClientFolder(const std::filesystem::path& place);
  ~NewClientFolder();
  NewClientFolder(const NewClientFolder&) = delete;
  NewClientFolder& operator=(const NewClientFolder&) = delete;

  const std::string& path() const { return path_; }

  /// Takes the place of `place`, at once; what was there goes away with this object.
  void MoveTo(const std::filesystem::path& place);

 private:
  std::string path_;
};

/// Throws Error unless there is nothing, the folder of a `whose` ("client", "helper") or an empty
/// one: what may be replaced.
void CheckReplaceable(const std::filesystem::path& place, const std::string& whose);

}  // namespace polykern
