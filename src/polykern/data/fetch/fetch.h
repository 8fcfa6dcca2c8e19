#pragma once

#include <string>
#include <vector>

#include "polykern/data/fetch/archive.h"
#include "polykern/data/fetch/download.h"
#include "polykern/data/published.h"

namespace polykern {

struct FetchOptions {
  std::string data_dir = "data";                ///< where the files go
  std::string from = std::string(kUciAddress);  ///< in front of every archive's address
  bool force = false;                           ///< replace files that differ from the published
  DownloadOptions download = {};
  UnpackOptions unpack = {};
};

/// What is true of a file after Fetch, and whether Fetch put it there.
struct FetchedFile {
  std::string path;  ///< with the data folder
  FileCheck check;
  bool fresh = false;
};

/// Brings the files of a publication into the data folder: downloads the archive, unpacks it,
/// checks every file and only then gives it its name, so a file of that name is whole and right at
/// all times. Files that are right already are left alone; if all are, nothing is downloaded. The
/// archive goes again when its files are in place; an interrupted download stays, hidden, and
/// resumes next time. Throws Error: what Download says; an archive with wrong or absent files;
/// a file that is there and differs, unless `force`; another process at work in the folder.
std::vector<FetchedFile> Fetch(const Publication& publication, const FetchOptions& options,
                               const DownloadProgress& progress);

}  // namespace polykern
