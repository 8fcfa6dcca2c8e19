#include "polykern/data/recipes.h"

#include <algorithm>
#include <filesystem>

#include "polykern/core/error.h"
#include "polykern/core/text.h"

namespace polykern {
namespace {

/// prefix + first, .., prefix + last, with at least `digits` digits.
std::vector<std::string> Numbered(const std::string& prefix, std::size_t first, std::size_t last,
                                  std::size_t digits = 1) {
  std::vector<std::string> names;
  for (std::size_t i = first; i <= last; ++i) {
    std::string number = std::to_string(i);
    if (number.size() < digits) number.insert(0, digits - number.size(), '0');
    names.push_back(prefix + number);
  }
  return names;
}

Recipe Naval() {
  Recipe recipe;
  recipe.name = "naval";
  recipe.title = "Condition Based Maintenance of Naval Propulsion Plants";
  recipe.files = {"naval/data.txt"};
  recipe.columns.target = "c1";  // lever position
  recipe.columns.features = Numbered("c", 2, 16);
  recipe.columns.table.delimiter = ' ';
  recipe.columns.table.header = HeaderLine::kNo;
  recipe.clients = 23;
  return recipe;
}

/// The paper's text says longitude, dealt i.i.d.; its tables come out with latitude and runs of
/// rows.
Recipe Uji() {
  Recipe recipe;
  recipe.name = "uji";
  recipe.title = "UJIIndoorLoc";
  recipe.files = {"uji/trainingData.csv", "uji/validationData.csv"};
  recipe.columns.target = "LATITUDE";
  recipe.columns.features = Numbered("WAP", 1, 520, 3);
  recipe.columns.site_per_file = false;
  recipe.columns.table.delimiter = ',';
  recipe.columns.table.header = HeaderLine::kYes;
  recipe.clients = 42;
  recipe.split = Split::kRuns;
  recipe.background = 100;  // "not detected", in 96.5 % of all cells
  return recipe;
}

/// The paper's text says CO; its tables come out with NO2.
Recipe Air() {
  Recipe recipe;
  recipe.name = "air";
  recipe.title = "Beijing Multi-Site Air-Quality Data";
  recipe.columns.site_names = {"Aotizhongxin", "Changping", "Dingling", "Dongsi"};
  for (const std::string& site : recipe.columns.site_names) {
    recipe.files.push_back("air/PRSA_Data_" + site + "_20130301-20170228.csv");
  }
  recipe.columns.target = "NO2";
  recipe.columns.features = {"month", "day",  "hour", "PM2.5", "PM10", "SO2", "CO",
                             "O3",    "TEMP", "PRES", "DEWP",  "RAIN", "wd",  "WSPM"};
  recipe.columns.categorical = {"wd"};
  recipe.columns.table.delimiter = ',';
  recipe.columns.table.header = HeaderLine::kYes;
  recipe.columns.table.codes_per_file = true;
  recipe.rows_per_site = 30000;
  recipe.clients = 240;
  recipe.split = Split::kSite;
  return recipe;
}

Recipe Wec() {
  Recipe recipe;
  recipe.name = "wec";
  recipe.title = "Wave Energy Converters";
  recipe.columns.site_names = {"Adelaide", "Perth", "Sydney", "Tasmania"};
  for (const std::string& site : recipe.columns.site_names) {
    recipe.files.push_back("wec/" + site + "_Data.csv");
  }
  recipe.columns.target = "c49";  // total power
  recipe.columns.features = Numbered("c", 1, 48);
  recipe.columns.table.delimiter = ',';
  recipe.columns.table.header = HeaderLine::kNo;
  recipe.rows_per_site = 70000;
  recipe.clients = 560;
  recipe.split = Split::kSite;
  return recipe;
}

std::vector<Recipe> MakeRecipes() {
  std::vector<Recipe> recipes = {Naval(), Uji(), Air(), Wec()};
  for (Recipe& recipe : recipes) {
    recipe.columns.name = recipe.name;
    recipe.steps = 500;
  }
  return recipes;
}

std::string Advice(const Recipe& recipe, const std::string& data_dir) {
  return "get it with: " + GetCommand(recipe.name, data_dir) +
         " (or name the folder that has it with " + OptionName("data_dir") + ")";
}

}  // namespace

SplitOptions Recipe::PaperSplit(std::uint64_t seed) const {
  return {.split = split, .clients = clients, .steps = steps, .seed = seed};
}

std::span<const Recipe> Recipes() {
  static const std::vector<Recipe> recipes = MakeRecipes();
  return recipes;
}

const Recipe& FindRecipe(std::string_view name) {
  std::vector<std::string> names;
  for (const Recipe& recipe : Recipes()) {
    if (recipe.name == name) return recipe;
    names.push_back(recipe.name);
  }
  throw Error("there is no data set " + Quoted(name) + "; " + Suggest(name, names));
}

std::string GetCommand(const std::string& names, const std::string& data_dir) {
  const bool standard = data_dir == kDefaultDataDir;
  return "polykern data get " + names +
         (standard ? "" : " " + ShellSpelling("data_dir", ShellWord(data_dir)));
}

Dataset LoadRecipe(const Recipe& recipe, const std::string& data_dir,
                   const ScalingOptions& scaling) {
  std::vector<std::string> paths;
  for (const std::string& file : recipe.files) {
    paths.push_back((std::filesystem::path(data_dir) / file).string());
    std::error_code error;
    if (!std::filesystem::exists(paths.back(), error)) {
      throw Error(paths.back() + ": there is no such file; " + Advice(recipe, data_dir));
    }
  }
  DatasetOptions options = recipe.columns;
  options.table.rows_per_file = recipe.rows_per_site;
  options.scaling = scaling;
  options.scaling.background = recipe.background;
  Dataset data = LoadDataset(paths, options);
  for (std::size_t site = 0; recipe.rows_per_site > 0 && site < paths.size(); ++site) {
    const auto rows = static_cast<std::size_t>(std::ranges::count(data.site, site));
    if (rows < recipe.rows_per_site) {
      throw Error(paths[site] + ": " + std::to_string(rows) + " complete rows, but " +
                  std::to_string(recipe.rows_per_site) + " are needed; remove it, then " +
                  Advice(recipe, data_dir));
    }
  }
  return data;
}

Dataset LoadRecipe(std::string_view name, const std::string& data_dir,
                   const ScalingOptions& scaling) {
  return LoadRecipe(FindRecipe(name), data_dir, scaling);
}

}  // namespace polykern
