#include "polykern/results/text_table.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "polykern/core/text.h"

namespace polykern {
namespace {

std::string MarkdownCell(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '<' || c == '*' || c == '_' || c == '`') cell += '\\';
    cell += c == '\n' || c == '\r' ? ' ' : c;
  }
  return cell;
}

}  // namespace

std::string CsvCell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string CsvText(const TextTable& table) {
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    text += Joined(cells, ",", CsvCell) + '\n';
  };
  line(table.header);
  for (const auto& row : table.rows) line(row);
  return text;
}

std::string MarkdownText(const TextTable& table) {
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    for (const std::string& cell : cells) text += "| " + MarkdownCell(cell) + " ";
    text += "|\n";
  };
  line(table.header);
  for (std::size_t c = 0; c < table.header.size(); ++c) text += c == 0 ? "| --- " : "| ---: ";
  text += "|\n";
  for (const auto& row : table.rows) line(row);
  return text;
}

std::string NumberText(double value) {
  return std::isfinite(value) ? ExactText(value) : "";
}

std::string FormatTable(const std::vector<std::string>& header,
                        const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(header.size());
  for (std::size_t c = 0; c < header.size(); ++c) {
    widths[c] = header[c].size();
    for (const auto& row : rows) widths[c] = std::max(widths[c], row[c].size());
  }
  std::ostringstream text;
  const auto line = [&](const std::vector<std::string>& cells) {
    for (std::size_t c = 0; c < cells.size(); ++c) {
      text << (c == 0 ? std::left : std::right) << (c == 0 ? "" : "  ")
           << std::setw(static_cast<int>(widths[c])) << cells[c];
    }
    text << '\n';
  };
  line(header);
  std::size_t whole = 2 * (header.size() - 1);
  for (const std::size_t width : widths) whole += width;
  text << std::string(whole, '-') << '\n';
  for (const auto& row : rows) line(row);
  return text.str();
}

std::string Fixed(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

std::string PlusMinus(const Spread& spread, double unit) {
  return Fixed(unit * spread.mean, 2) + " +- " + Fixed(unit * spread.deviation, 2);
}

std::string OrDash(std::size_t count) {
  return count > 0 ? std::to_string(count) : "-";
}

std::string Count(std::size_t count, const std::string& thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

std::string Bytes(double bytes) {
  if (bytes < 1000) return Fixed(bytes, 0) + " B";
  if (bytes < 1e6) return Fixed(bytes / 1e3, 1) + " kB";
  return Fixed(bytes / 1e6, 1) + " MB";
}

}  // namespace polykern
