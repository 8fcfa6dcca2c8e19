#include "polykern/data/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "polykern/core/error.h"
#include "polykern/core/text.h"

namespace polykern {
namespace {

/// Up to 15 digits with an optional minus: exact in double, and most cells of most files.
bool ParseShortInteger(std::string_view text, double& value) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  if (text.empty() || text.size() > 15) return false;
  long long number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    number = number * 10 + (c - '0');
  }
  value = static_cast<double>(number);
  if (negative) value = -value;
  return true;
}

bool IsMissing(std::string_view text) {
  if (text.empty()) return true;
  if (text.size() > 4) return false;
  const std::string word = Lowered(text);
  return word == "na" || word == "n/a" || word == "nan" || word == "null" || word == "?";
}

}  // namespace

std::string Cell::Unescape() const {
  if (!escaped) return std::string(text);
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    plain += text[i];
    if (text[i] == '"') ++i;  // the second of two
  }
  return plain;
}

CellKind ParseCell(std::string_view text, double& value, char decimal) {
  if (ParseShortInteger(text, value)) return CellKind::kNumber;
  if (IsMissing(text)) return CellKind::kMissing;
  if (decimal == ',') {
    if (text.find('.') != std::string_view::npos) return CellKind::kText;
    const std::size_t comma = text.find(',');
    if (comma != std::string_view::npos) {
      std::string pointed(text);
      pointed[comma] = '.';
      return ParseCell(pointed, value);
    }
  }
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const char* end = text.data() + text.size();
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return CellKind::kText;
  if (!std::isfinite(number)) return CellKind::kMissing;
  value = number;
  return CellKind::kNumber;
}

bool HasDecimalComma(std::string_view text) {
  double ignored = 0;
  return text.find(',') != std::string_view::npos && ParseCell(text, ignored) == CellKind::kText &&
         ParseCell(text, ignored, ',') == CellKind::kNumber;
}

RowScanner::RowScanner(std::string_view text, char delimiter, std::string_view path,
                       std::size_t line, std::size_t expected)
    : text_(text),
      path_(path),
      delimiter_(delimiter),
      expected_(expected),
      line_(line),
      next_line_(line) {
  for (const char c : {' ', '\t', '\r'}) {
    if (c != delimiter || delimiter == ' ') blank_[static_cast<unsigned char>(c)] = true;
  }
  stop_[static_cast<unsigned char>('\n')] = true;
  stop_[static_cast<unsigned char>(delimiter)] = true;
  if (delimiter == ' ') stop_['\t'] = stop_['\r'] = true;
  cells_.reserve(expected);
}

bool RowScanner::Next() {
  do {
    if (position_ == text_.size()) return false;
    line_ = next_line_;
    cells_.clear();
    ScanRow();
  } while (cells_.empty() || (cells_.size() == 1 && cells_[0].text.empty()));
  if (expected_ != 0 && cells_.size() != expected_) {
    throw Error(std::string(path_) + ", line " + std::to_string(line_) + ": " +
                std::to_string(expected_) + " cells expected, " + std::to_string(cells_.size()) +
                " found; correct the line, or check the delimiter and the quotes");
  }
  return true;
}

void RowScanner::ScanRow() {
  const char* p = text_.data() + position_;
  const char* const end = text_.data() + text_.size();
  const auto is = [](const std::array<bool, 256>& set, char c) {
    return set[static_cast<unsigned char>(c)];
  };
  const bool runs = delimiter_ == ' ';
  for (;;) {
    while (p != end && is(blank_, *p)) ++p;
    if (!runs || (p != end && *p != '\n')) {
      Cell cell;
      if (p != end && *p == '"') {
        p = ScanQuoted(p, cell);
      } else {
        const char* const start = p;
        while (p != end && !is(stop_, *p)) ++p;
        const char* last = p;
        while (last != start && is(blank_, last[-1])) --last;
        cell.text = {start, static_cast<std::size_t>(last - start)};
      }
      cells_.push_back(cell);
    }
    if (p == end || *p == '\n') break;
    ++p;
  }
  if (p != end) {
    ++p;
    ++next_line_;
  }
  position_ = static_cast<std::size_t>(p - text_.data());
}

const char* RowScanner::ScanQuoted(const char* from, Cell& cell) {
  const char* const end = text_.data() + text_.size();
  const char* const start = from + 1;
  const char* p = start;
  for (;;) {
    p = std::find(p, end, '"');
    if (p == end) {
      throw Error(std::string(path_) + ", line " + std::to_string(next_line_) +
                  ": a quote is opened and never closed; close it or remove it");
    }
    if (p + 1 == end || p[1] != '"') break;
    cell.escaped = true;
    p += 2;
  }
  cell.text = {start, static_cast<std::size_t>(p - start)};
  ++p;
  const std::size_t quote_line = next_line_;
  next_line_ += static_cast<std::size_t>(std::count(start, p, '\n'));
  while (p != end && blank_[static_cast<unsigned char>(*p)] && *p != delimiter_) ++p;
  if (p != end && !stop_[static_cast<unsigned char>(*p)]) {
    throw Error(std::string(path_) + ", line " + std::to_string(quote_line) +
                ": text follows a closing quote; double the quotes inside a quoted cell");
  }
  return p;
}

}  // namespace polykern
