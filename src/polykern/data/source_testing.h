// For tests of sources.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "polykern/data/source.h"

namespace polykern {

/// These data, with the column y to predict.
inline SourceOptions FilesOptions(std::vector<std::string> data) {
  SourceOptions options;
  options.data = std::move(data);
  options.target = "y";
  return options;
}

}  // namespace polykern
