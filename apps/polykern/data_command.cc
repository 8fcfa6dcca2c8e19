#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "options.h"
#include "polykern/core/error.h"
#include "polykern/data/fetch/fetch.h"
#include "polykern/data/published.h"
#include "polykern/data/recipes.h"
#include "polykern/results/text_table.h"
#include "progress.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// What list, get and check can be told.
struct DataOptions {
  std::vector<std::string> names;
  std::string format = "text";
  FetchOptions fetch;
  std::size_t timeout = 30;  ///< seconds
};

const char* Name(FileState state) {
  switch (state) {
    case FileState::kRight:
      return "right";
    case FileState::kUnchecked:
      return "present";
    case FileState::kMissing:
      return "missing";
    case FileState::kAltered:
      break;
  }
  return "altered";
}

/// The publications of these names, each once, in the order of the recipes; all: every one.
std::vector<const Publication*> Choose(const std::vector<std::string>& names) {
  std::vector<const Publication*> chosen;
  for (const std::string& name : names) {
    if (name != "all") FindPublication(name);  // throws for a name that does not exist
  }
  for (const Publication& publication : Publications()) {
    const auto asked = [&](const std::string& name) {
      return name == "all" || name == publication.name;
    };
    if (std::ranges::any_of(names, asked)) chosen.push_back(&publication);
  }
  return chosen;
}

void List(const DataOptions& options) {
  const std::string& folder = options.fetch.data_dir;
  Json json = Json::array();
  std::string text;
  for (const Recipe& recipe : Recipes()) {
    const std::string get = GetCommand(recipe.name, folder);
    Json files = Json::array();
    std::string lines;
    bool whole = true;
    for (const std::string& file : recipe.files) {
      const std::string path = (fs::path(folder) / file).string();
      std::error_code error;
      const bool present = fs::exists(path, error);
      whole &= present;
      files.push_back({{"path", path}, {"present", present}});
      lines += (present ? "       present  " : "       missing  ") + path + "\n";
    }
    json.push_back({{"name", recipe.name},
                    {"title", recipe.title},
                    {"clients", recipe.clients},
                    {"steps", recipe.steps},
                    {"inputs", recipe.columns.features.size()},
                    {"files", files},
                    {"get", get}});
    text += recipe.name + std::string(7 - recipe.name.size(), ' ') + recipe.title + "\n       " +
            Count(recipe.clients, "client") + ", " + Count(recipe.steps, "step") + ", " +
            Count(recipe.columns.features.size(), "input") + "\n" + lines;
    if (!whole) text += "       get it:  " + get + "\n";
  }
  std::cout << (options.format == "json" ? json.dump(2) + "\n" : text);
}

void Check(const DataOptions& options) {
  const std::string& folder = options.fetch.data_dir;
  const bool all = options.names.empty();
  Json json = Json::array();
  std::string text;
  std::string complaint;
  for (const Publication* publication :
       Choose(all ? std::vector<std::string>{"all"} : options.names)) {
    std::vector<std::pair<std::string, FileCheck>> checks;
    for (const PublishedFile& published : publication->files) {
      const std::string path = (fs::path(folder) / published.path).string();
      checks.emplace_back(path, CheckFile(path, published));
    }
    const bool absent = std::ranges::all_of(
        checks, [](const auto& entry) { return entry.second.state == FileState::kMissing; });
    for (const auto& [path, check] : checks) {
      json.push_back({{"data", publication->name},
                      {"path", path},
                      {"state", Name(check.state)},
                      {"detail", check.detail}});
      const std::string state = Name(check.state);
      text += state + std::string(9 - state.size(), ' ') + path +
              (check.detail.empty() ? "" : " (" + check.detail + ")") + "\n";
      const bool altered = check.state == FileState::kAltered;
      const bool bad = altered || check.state == FileState::kMissing;
      if (!bad || (all && absent) || !complaint.empty()) continue;  // the table names the others
      complaint = path + " is " + Name(check.state) +
                  "; repair it with: " + GetCommand(publication->name, folder) +
                  (altered ? " --force" : "");
    }
  }
  std::cout << (options.format == "json" ? json.dump(2) + "\n" : text) << std::flush;
  if (!complaint.empty()) throw Error(complaint);
}

void Get(DataOptions& options) {
  options.fetch.download.timeout = std::chrono::seconds(options.timeout);
  std::optional<Error> failure;  // one that fails does not keep the others from coming
  for (const Publication* publication : Choose(options.names)) {
    try {
      DownloadLine line(publication->name);
      const auto files =
          Fetch(*publication, options.fetch,
                [&](std::uint64_t done, std::uint64_t total) { line.Show(done, total); });
      for (const FetchedFile& file : files) {
        std::cout << (file.fresh ? "got      " : "already  ") << file.path
                  << (file.check.detail.empty() ? "" : " (" + file.check.detail + ")") << '\n'
                  << std::flush;
      }
    } catch (const Error& error) {
      if (failure) std::cerr << "polykern: " << failure->Spelled(ShellSpelling) << '\n';
      failure = error;
    }
  }
  if (failure) throw *failure;
}

}  // namespace

void AddDataCommand(CLI::App& program) {
  CLI::App& data =
      *program.add_subcommand("data",
                              "The paper's data sets, and a look at your own files.\n"
                              "Example: polykern data get naval && polykern run --data naval");
  data.require_subcommand(0, 1);
  const char* const names = "naval, uji, air, wec";
  const auto add = [&](const char* name, const char* help) {
    return std::pair(data.add_subcommand(name, help), std::make_shared<DataOptions>());
  };

  const auto [list, list_options] =
      add("list",
          "List the data sets and which of their files are there.\nExample: polykern data list");
  AddConfigOption(*list);
  AddDataDirOption(*list, list_options->fetch.data_dir, "Folder to look in");
  AddFormatOption(*list, list_options->format);
  list->callback([o = list_options] { List(*o); });

  const auto [get, get_options] =
      add("get",
          "Download data sets from the UCI repository, check their SHA-256 and unpack them.\n"
          "Files that are right are kept; one that differs "
          "is named, and replaced only with --force.\nA download that was interrupted resumes.\n"
          "Example: polykern data get naval air --data-dir ~/uci");
  FetchOptions& fetch = get_options->fetch;
  get->add_option("NAME", get_options->names, std::string(names) + ", or all")->required();
  AddConfigOption(*get);
  AddDataDirOption(*get, fetch.data_dir, "Folder to put them in");
  get->add_flag("--force", fetch.force, "Replace files that differ from the published ones");
  get->add_option("--from", fetch.from, "Mirror: the address before 316/..., 310/...")
      ->capture_default_str()
      ->group("Network");
  get->add_option("--timeout", get_options->timeout,
                  "Seconds of silence after which a download is abandoned")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str()
      ->group("Network");
  get->add_option("--retries", fetch.download.retries, "Further attempts when the connection fails")
      ->check(CLI::Range(0, 100))
      ->capture_default_str()
      ->group("Network");
  get->callback([o = get_options] { Get(*o); });

  const auto [check, check_options] =
      add("check",
          "Compare the files with the published ones; the exit code is 1 if "
          "one that was asked for is missing or altered.\nExample: polykern data check naval");
  check->add_option("NAME", check_options->names,
                    std::string(names) + ", or all (default: those of which a file is there)");
  AddConfigOption(*check);
  AddDataDirOption(*check, check_options->fetch.data_dir, "Folder to look in");
  AddFormatOption(*check, check_options->format);
  check->callback([o = check_options] { Check(*o); });

  AddDataScanCommand(data);
}

}  // namespace polykern
