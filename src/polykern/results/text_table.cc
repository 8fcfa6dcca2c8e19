#include "polykern/results/text_table.h"

#include <cmath>

#include "polykern/core/text.h"

namespace polykern {
namespace {

std::string CsvCell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string MarkdownCell(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '<' || c == '*' || c == '_' || c == '`') cell += '\\';
    cell += c == '\n' || c == '\r' ? ' ' : c;
  }
  return cell;
}

}  // namespace

std::string CsvText(const TextTable& table) {
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    for (std::size_t c = 0; c < cells.size(); ++c) text += (c == 0 ? "" : ",") + CsvCell(cells[c]);
    text += '\n';
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

}  // namespace polykern
