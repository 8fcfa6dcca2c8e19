#include "polykern/results/run_store.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

#include "polykern/io/checksum.h"
#include "polykern/results/result_file.h"

namespace polykern {
namespace {

using Json = nlohmann::ordered_json;

/// Settings are compared in full.
std::string FileName(const std::string& name, const std::string& settings) {
  return name + "-" + Fnv1a(settings) + ".json";
}

}  // namespace

RunStore::RunStore(std::string folder) : folder_(std::move(folder)) {}

std::optional<std::string> RunStore::Find(const std::string& name, const std::string& settings,
                                          std::string& damaged) const {
  const auto path = std::filesystem::path(folder_) / FileName(name, settings);
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_object() && json.contains("settings") && json["settings"] != settings) {
    return std::nullopt;  // another run that happens to have the same hash
  }
  if (!json.is_object() || !json.contains("settings") || !json.contains("result") ||
      json.value("checksum", Json()) != Fnv1a(settings + json["result"].dump())) {
    damaged = path.string();
    return std::nullopt;
  }
  return json["result"].dump();
}

void RunStore::Keep(const std::string& name, const std::string& settings,
                    const std::string& result) const {
  const Json parsed = Json::parse(result);
  const Json json = {
      {"settings", settings}, {"checksum", Fnv1a(settings + parsed.dump())}, {"result", parsed}};
  // Not durable: after a power cut a run that is damaged is run again.
  WriteResultFile(folder_, FileName(name, settings), json.dump() + "\n", Durable::kNo);
}

void RunStore::Forget(const std::string& name, const std::string& settings) const {
  std::error_code ignored;
  const std::string file = FileName(name, settings);
  std::filesystem::remove(std::filesystem::path(folder_) / file, ignored);
  // What a process that was killed while it wrote has left.
  for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored)) {
    if (entry.path().filename().string().starts_with("." + file + ".tmp")) {
      std::filesystem::remove(entry.path(), ignored);
    }
  }
  std::filesystem::remove(folder_, ignored);  // fails, rightly, if it is not empty
}

}  // namespace polykern
