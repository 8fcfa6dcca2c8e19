#pragma once

#include <string>
#include <vector>

#include "polykern/data/recipes.h"

namespace polykern {

/// A data set whose files are all there, as published.
struct PaperData {
  const Recipe* recipe = nullptr;  ///< constant
  std::string settings = {};       ///< everything that decides its samples, but the seed
};

/// Data sets of the paper, in the order of the recipes.
struct FoundPaperData {
  std::vector<PaperData> found = {};
  std::vector<std::string> absent = {};  ///< of which there is no file
};

/// Those of the named data sets, or of all that the paper has, that are in the folder. Throws Error
/// if none is there, if the paper does not have one that is named, or a file of one is missing or
/// altered.
FoundPaperData FindPaperData(const std::vector<std::string>& names, const std::string& data_dir);

}  // namespace polykern
