#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "polykern/core/metrics.h"

namespace polykern {

// Tables, and numbers as readers see them: pure functions.

/// A table of texts; every row has as many cells as the header.
struct TextTable {
  std::vector<std::string> header = {};
  std::vector<std::vector<std::string>> rows = {};
};

/// As RFC 4180 has it, with plain line ends: cells with commas, quotes or line ends are quoted.
std::string CsvText(const TextTable& table);
std::string CsvCell(const std::string& text);

/// As GitHub shows it; the first column is aligned to the left, the others to the right.
std::string MarkdownText(const TextTable& table);

/// The shortest text that reads back as the same number; empty for one that is none.
std::string NumberText(double value);

/// Columns aligned to the right, the first to the left; a header line and a rule.
std::string FormatTable(const std::vector<std::string>& header,
                        const std::vector<std::vector<std::string>>& rows);

/// A number with so many digits after the point.
std::string Fixed(double value, int digits);

/// "1.23 +- 0.45", both times `unit`.
std::string PlusMinus(const Spread& spread, double unit = 1);

/// A count; "-" for none.
std::string OrDash(std::size_t count);

/// "1 client", "2 clients".
std::string Count(std::size_t count, const std::string& thing);

/// Bytes as B, kB or MB.
std::string Bytes(double bytes);

}  // namespace polykern
