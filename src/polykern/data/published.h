#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace polykern {

/// A file of a data set as its publisher has it.
struct PublishedFile {
  std::string path = {};    ///< below the data folder; its last part is its name in the archive
  std::string sha256 = {};  ///< 64 hexadecimal digits; empty: not known, so the shape is checked
  std::size_t columns = 0;  ///< shape: so many columns of numbers, divided by commas, no header
  std::size_t rows = 0;     ///< shape: at least so many rows
};

/// Where a recipe's files come from.
struct Publication {
  std::string name = {};     ///< of the recipe
  std::string archive = {};  ///< the address of the zip file, below the archive's
  std::vector<PublishedFile> files = {};
};

/// The UCI repository's address, in front of every Publication::archive.
inline constexpr std::string_view kUciAddress = "https://archive.ics.uci.edu/static/public/";

/// One for each recipe, in their order. Constant.
std::span<const Publication> Publications();

/// The publication of this recipe; throws Error that offers the nearest names.
const Publication& FindPublication(std::string_view name);

enum class FileState {
  kRight,      ///< the published bytes
  kUnchecked,  ///< its sum is not known, but its shape is right
  kMissing,
  kAltered,  ///< other bytes, or another shape
};

struct FileCheck {
  FileState state = FileState::kMissing;
  std::string detail = {};  ///< what is wrong, or what could not be checked; may be empty
};

/// Compares a file, wherever it lies, with the published one. Throws Error if it cannot be read.
FileCheck CheckFile(const std::string& path, const PublishedFile& published);

}  // namespace polykern
