#pragma once

#include <string>
#include <vector>

namespace polykern {

/// A table of texts; every row has as many cells as the header.
struct TextTable {
  std::vector<std::string> header = {};
  std::vector<std::vector<std::string>> rows = {};
};

/// As RFC 4180 has it, with plain line ends: cells with commas, quotes or line ends are quoted.
std::string CsvText(const TextTable& table);

/// As GitHub shows it; the first column is aligned to the left, the others to the right.
std::string MarkdownText(const TextTable& table);

/// The shortest text that reads back as the same number; empty for one that is none.
std::string NumberText(double value);

}  // namespace polykern
