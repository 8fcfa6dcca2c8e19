#include "polykern/data/published.h"

#include <cassert>
#include <filesystem>
#include <optional>

#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/data/csv.h"
#include "polykern/data/recipes.h"
#include "polykern/io/checksum.h"

namespace polykern {
namespace {

/// What the recipes do not know: the address, and a sum for each file in the recipe's order.
struct Origin {
  const char* name;
  const char* archive;
  std::vector<const char*> sums;
};

std::vector<Publication> MakePublications() {
  const Origin origins[] = {
      {"naval",
       "316/condition+based+maintenance+of+naval+propulsion+plants.zip",
       {"de0ea69da1efaab8b9655ffed828547d10dd68c1fb8c6e0163e6a988def393a6"}},
      {"uji",
       "310/ujiindoorloc.zip",
       {"45ca0128bd12019c976bb4793e407c979c82995d7a5940ab7288620247905168",
        "5f90c536648cd657b2c516d20c4e0968d4003279ea6bd5d5d5322d3f1e8905c0"}},
      {"air",
       "501/beijing+multi+site+air+quality+data.zip",
       {"a94fbcfc71708b6ffdc033360163d91efb7f675e496f6b5860929aa96b96351b",
        "a2e21402a6d95fb7043f87959e6e3dcbecb957aac356a6f8028a85b047c772e7",
        "3d8dff81f18a80d9f455876a785642bffe1e9b9924ec1e6b7ce8cca790432eeb",
        "9c0020214425e5ee2a64d42f97a1f632e1d8f6b53ad50edd85a686cc7999f27e"}},
      {"wec", "494/wave+energy+converters.zip", {"", "", "", ""}},
  };
  std::vector<Publication> publications;
  for (const Origin& origin : origins) {
    const Recipe& recipe = FindRecipe(origin.name);
    assert(recipe.files.size() == origin.sums.size());
    Publication& publication = publications.emplace_back();
    publication.name = origin.name;
    publication.archive = origin.archive;
    for (std::size_t i = 0; i < recipe.files.size(); ++i) {
      publication.files.push_back({.path = recipe.files[i],
                                   .sha256 = origin.sums[i],
                                   .columns = recipe.columns.features.size() + 1,
                                   .rows = recipe.rows_per_site});
    }
  }
  return publications;
}

/// What is wrong with the shape; nothing if it is right.
std::optional<std::string> WrongShape(const std::string& path, const PublishedFile& published) {
  try {
    const CsvFile file = OpenCsv(path, ',', HeaderLine::kNo);
    if (file.names.size() != published.columns) {
      return std::to_string(file.names.size()) + " columns, not " +
             std::to_string(published.columns);
    }
    std::size_t count = 0;
    for (RowScanner rows = file.Rows(); rows.Next(); ++count) {
      for (const Cell& cell : rows.cells()) {
        double ignored = 0;
        if (ParseCell(cell.text, ignored) == CellKind::kNumber) continue;
        return "line " + std::to_string(rows.line()) + ": " + Quoted(cell.text) +
               " is not a number";
      }
    }
    if (count >= published.rows) return std::nullopt;
    return std::to_string(count) + " rows, fewer than " + std::to_string(published.rows);
  } catch (const Error& error) {  // its text begins with the path, which the caller names anyway
    const std::string text = error.what();
    return text.starts_with(path) ? text.substr(text.find_first_not_of(":, ", path.size())) : text;
  }
}

}  // namespace

std::span<const Publication> Publications() {
  static const std::vector<Publication> publications = MakePublications();
  return publications;
}

const Publication& FindPublication(std::string_view name) {
  const Recipe& recipe = FindRecipe(name);
  return Publications()[static_cast<std::size_t>(&recipe - Recipes().data())];
}

FileCheck CheckFile(const std::string& path, const PublishedFile& published) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return {};
  if (!std::filesystem::is_regular_file(status)) {
    return {FileState::kAltered, "this is not a file"};
  }
  if (published.sha256.empty()) {
    if (const auto wrong = WrongShape(path, published)) return {FileState::kAltered, *wrong};
    return {FileState::kUnchecked, "its SHA-256 is not known, so only its shape was checked"};
  }
  const std::string sum = Sha256OfFile(path);
  if (sum == published.sha256) return {FileState::kRight, ""};
  return {FileState::kAltered, "SHA-256 " + sum + ", not " + published.sha256};
}

}  // namespace polykern
