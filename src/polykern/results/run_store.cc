#include "polykern/results/run_store.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

#include "polykern/results/result_file.h"

namespace polykern {
namespace {

using Json = nlohmann::ordered_json;

/// FNV-1a: finds files and notices damage; settings are compared in full.
std::string Hash(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::string digits(16, '0');
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, hash >>= 4) {
    *digit = "0123456789abcdef"[hash & 15];
  }
  return digits;
}

std::string FileName(const std::string& name, const std::string& settings) {
  return name + "-" + Hash(settings) + ".json";
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
      json.value("checksum", Json()) != Hash(settings + json["result"].dump())) {
    damaged = path.string();
    return std::nullopt;
  }
  return json["result"].dump();
}

void RunStore::Keep(const std::string& name, const std::string& settings,
                    const std::string& result) const {
  const Json parsed = Json::parse(result);
  const Json json = {
      {"settings", settings}, {"checksum", Hash(settings + parsed.dump())}, {"result", parsed}};
  WriteResultFile(folder_, FileName(name, settings), json.dump() + "\n");
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
