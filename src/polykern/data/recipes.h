#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polykern/data/dataset.h"
#include "polykern/data/split.h"

namespace polykern {

/// Where recipes find their files, unless told otherwise.
inline constexpr const char* kDefaultDataDir = "data";

/// One of the paper's data sets: its files, its columns and how it is dealt to clients.
struct Recipe {
  std::string name = {};                ///< as in --data
  std::string title = {};               ///< the name at the UCI repository
  std::vector<std::string> files = {};  ///< below the data folder
  DatasetOptions columns = {};          ///< target, inputs, sites, form of the files
  std::size_t rows_per_site = 0;        ///< so many complete rows of each file; 0: all there are
  std::size_t clients = 0;              ///< in the paper
  std::size_t steps = 0;                ///< in the paper
  Split split = Split::kIid;            ///< in the paper
  double background = 0;  ///< of ScalingOptions: the value of most cells, which becomes 0

  /// The paper's deal with this seed.
  SplitOptions PaperSplit(std::uint64_t seed) const;
};

/// The four data sets: naval, uji, air, wec. Constant.
std::span<const Recipe> Recipes();

/// The recipe of this name; throws Error that offers the nearest names.
const Recipe& FindRecipe(std::string_view name);

/// What a user types to get the files of these recipes into `data_dir`.
std::string GetCommand(const std::string& names, const std::string& data_dir);

/// Reads a data set from its folder below `data_dir` and scales it (by default as the paper does,
/// over all its rows). Throws Error that names a missing file and the command that gets it, and
/// when a site has too few complete rows.
Dataset LoadRecipe(const Recipe& recipe, const std::string& data_dir,
                   const ScalingOptions& scaling = {});
Dataset LoadRecipe(std::string_view name, const std::string& data_dir,
                   const ScalingOptions& scaling = {});

}  // namespace polykern
