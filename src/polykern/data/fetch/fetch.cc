#include "polykern/data/fetch/fetch.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "polykern/core/error.h"
#include "polykern/data/recipes.h"
#include "polykern/io/file_lock.h"
#include "polykern/io/output_file.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;

bool IsGood(const FileCheck& check) {
  return check.state == FileState::kRight || check.state == FileState::kUnchecked;
}

std::string BaseName(const std::string& path) {
  return fs::path(path).filename().string();
}

/// Unpacks what is wanted and moves it into place; throws ArchiveError unless all of it was there.
void TakeFiles(const std::string& archive, const std::string& folder,
               const Publication& publication, const UnpackOptions& options,
               std::vector<FetchedFile>& files) {
  std::vector<std::string> names;
  for (const FetchedFile& file : files) {
    if (!IsGood(file.check)) names.push_back(BaseName(file.path));
  }
  std::map<std::string, std::string> wrong;
  Unpack(archive, names, folder, options, [&](const std::string& name, const std::string& found) {
    const auto same = [&](const FetchedFile& file) { return BaseName(file.path) == name; };
    const auto file = std::ranges::find_if(files, same);
    if (file->fresh) return;  // another member of this name was right
    const FileCheck check =
        CheckFile(found, publication.files[static_cast<std::size_t>(file - files.begin())]);
    if (!IsGood(check)) {
      wrong[name] = check.detail;
      return;
    }
    MoveIntoPlace(found, file->path);
    file->check = check;
    file->fresh = true;
  });
  for (const FetchedFile& file : files) {
    if (IsGood(file.check)) continue;
    const std::string name = BaseName(file.path);
    throw ArchiveError(wrong.contains(name)
                           ? "its " + name + " is not the published one (" + wrong[name] + ")"
                           : "there is no " + name + " in the archive");
  }
}

}  // namespace

std::vector<FetchedFile> Fetch(const Publication& publication, const FetchOptions& options,
                               const DownloadProgress& progress) {
  std::vector<FetchedFile> files;
  for (const PublishedFile& published : publication.files) {
    FetchedFile& file = files.emplace_back();
    file.path = (fs::path(options.data_dir) / published.path).string();
    file.check = CheckFile(file.path, published);
    if (file.check.state == FileState::kAltered && !options.force) {
      throw Error(file.path + ": differs from the published file (" + file.check.detail +
                  "); to replace it: " + GetCommand(publication.name, options.data_dir) + " " +
                  ShellSpelling("force"));
    }
  }
  const auto good = [](const FetchedFile& file) { return IsGood(file.check); };
  if (std::ranges::all_of(files, good)) return files;

  const std::string folder = fs::path(files.front().path).parent_path().string();
  const std::string archive = folder + "/." + publication.name + ".zip.part";
  const std::string url =
      options.from + (options.from.ends_with('/') ? "" : "/") + publication.archive;
  MakeFolder(folder);
  const FileLock lock(folder);
  if (lock.state() == FileLock::State::kBusy) {
    throw Error(folder + ": another polykern is getting these files now; wait until it is done");
  }
  for (bool again = false;; again = true) {
    const bool resumed = Download(url, archive, options.download, progress);
    try {
      TakeFiles(archive, folder, publication, options.unpack, files);
      break;
    } catch (const ArchiveError& error) {
      ForgetDownload(archive);
      if (resumed && !again) continue;  // two halves that do not fit: once more, from the start
      throw Error(url + ": " + error.marked() + "; try again later, or see " + OptionName("from"));
    }
  }
  ForgetDownload(archive);
  return files;
}

}  // namespace polykern
