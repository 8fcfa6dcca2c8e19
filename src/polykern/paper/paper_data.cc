#include "polykern/paper/paper_data.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/data/published.h"
#include "polykern/io/checksum.h"
#include "polykern/paper/published_figures.h"

namespace polykern {
namespace {

using Json = nlohmann::ordered_json;

/// Everything that decides a data set's samples; nothing if none of its files is there.
std::string DataSettings(const Recipe& recipe, const std::string& data_dir) {
  Json files = Json::object();
  std::string missing;
  for (const PublishedFile& published : FindPublication(recipe.name).files) {
    const std::string path = (std::filesystem::path(data_dir) / published.path).string();
    const FileCheck check = CheckFile(path, published);
    if (check.state == FileState::kAltered) {
      throw Error(path + " is altered (" + check.detail + "); repair it with: " +
                  GetCommand(recipe.name, data_dir) + " " + ShellSpelling("force"));
    }
    if (check.state == FileState::kMissing) {
      if (missing.empty()) missing = path;
    } else {
      files[published.path] = published.sha256.empty() ? Sha256OfFile(path) : published.sha256;
    }
  }
  if (files.empty()) return "";
  if (!missing.empty()) {
    throw Error(missing + " is missing; get it with: " + GetCommand(recipe.name, data_dir));
  }
  return Json{{"data", recipe.name},
              {"files", files},
              {"target", recipe.columns.target},
              {"clients", recipe.clients},
              {"steps", recipe.steps}}
      .dump();
}

}  // namespace

FoundPaperData FindPaperData(const std::vector<std::string>& names, const std::string& data_dir) {
  for (const std::string& name : names) {
    FindRecipe(name);  // throws for one that does not exist
    if (!InPaper(name)) throw Error("the paper has no figures of '" + name + "'");
  }
  FoundPaperData data;
  for (const Recipe& recipe : Recipes()) {
    if (!InPaper(recipe.name)) continue;
    if (!names.empty() && std::ranges::find(names, recipe.name) == names.end()) continue;
    std::string settings = DataSettings(recipe, data_dir);
    if (settings.empty()) {
      data.absent.push_back(recipe.name);
    } else {
      data.found.push_back({&recipe, std::move(settings)});
    }
  }
  if (data.found.empty()) {
    const std::string absent = Joined(data.absent, " ");
    throw Error("'" + data_dir + "' has no files of: " + absent +
                "; get them with: " + GetCommand(absent, data_dir) +
                " (or name the folder that has them with " + OptionName("data_dir") + ")");
  }
  return data;
}

}  // namespace polykern
