#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <unordered_set>

#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/data/csv.h"
#include "polykern/data/gzip.h"

namespace polykern {
namespace {

constexpr std::size_t kSampleLines = 10;

std::string ReadWhole(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    throw Error(path + ": there is no such file; check the path");
  }
  if (std::filesystem::is_directory(status)) {
    throw Error(path + ": this is a folder; name a file in it");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Error(path + ": cannot be opened (" + std::generic_category().message(errno) +
                "); check its permissions");
  }
  std::size_t chunk = std::size_t{1} << 20U;
  if (std::filesystem::is_regular_file(status)) {
    chunk = static_cast<std::size_t>(std::filesystem::file_size(path, error)) + 1;
    if (error) chunk = std::size_t{1} << 20U;
  }
  std::string text;
  while (file) {  // a pipe has no size: read until nothing comes
    const std::size_t before = text.size();
    text.resize(before + chunk);
    file.read(text.data() + before, static_cast<std::streamsize>(chunk));
    text.resize(before + static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) throw Error(path + ": reading failed; check the disk and try again");
  return text;
}

void CheckIsText(const std::string& path, std::string_view text) {
  if (path.ends_with(".parquet") || text.starts_with("PAR1")) {
    throw Error(path +
                ": this is a Parquet file; make a CSV file of it in Python: import pandas; " +
                "pandas.read_parquet('in.parquet').to_csv('out.csv', index=False)");
  }
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    throw Error(path + ": this is UTF-16 text; save it as UTF-8");
  }
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    throw Error(path + ": not a text file (zero byte at offset " + std::to_string(zero) +
                "); unpack it, or save it as CSV");
  }
}

/// How often each of tab, semicolon and comma, and a blank inside the line, occur outside quotes.
using Counts = std::array<std::size_t, 4>;
constexpr std::array<char, 4> kDelimiters = {'\t', ';', ',', ' '};

Counts CountDelimiters(std::string_view line) {
  Counts counts{};
  bool quoted = false;
  const std::size_t last = line.find_last_not_of(" \t\r");
  for (std::size_t i = line.find_first_not_of(" \t\r"); i <= last; ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (quoted) continue;
    for (std::size_t k = 0; k < kDelimiters.size(); ++k) counts[k] += line[i] == kDelimiters[k];
  }
  return counts;
}

/// The first of tab, semicolon, comma that occurs equally often in each of the first lines; else
/// the most frequent one of the first line; else blanks, if every line has some; else comma. No
/// comma if it is the decimal one; then semicolon in the end.
char GuessDelimiter(std::string_view text, char decimal) {
  std::vector<Counts> lines;
  while (!text.empty() && lines.size() < kSampleLines) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      lines.push_back(CountDelimiters(line));
      if (decimal == ',') lines.back()[2] = 0;
    }
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  const Counts& first = lines.front();
  for (std::size_t k = 0; k < 3; ++k) {
    const auto same = [&](const Counts& counts) { return counts[k] == first[k]; };
    if (first[k] > 0 && std::ranges::all_of(lines, same)) return kDelimiters[k];
  }
  const auto most = std::max_element(first.begin(), first.begin() + 3);
  if (*most > 0) return kDelimiters[static_cast<std::size_t>(most - first.begin())];
  const auto has_blank = [](const Counts& counts) { return counts[3] > 0; };
  return std::ranges::all_of(lines, has_blank) ? ' ' : decimal == ',' ? ';' : ',';
}

bool LooksLikeHeader(const std::vector<Cell>& cells, char decimal) {
  bool word = false;
  for (const Cell& cell : cells) {
    double ignored = 0;
    const CellKind kind = ParseCell(cell.text, ignored, decimal);
    if (kind == CellKind::kNumber) return false;
    word = word || kind == CellKind::kText;
  }
  return word;
}

void NameColumns(CsvFile& file, const std::vector<Cell>& first_row, std::size_t line) {
  std::unordered_set<std::string> seen;
  for (std::size_t i = 0; i < first_row.size(); ++i) {
    std::string name = file.has_header ? first_row[i].Unescape() : "";
    if (name.empty()) name = "c" + std::to_string(i + 1);
    if (!seen.insert(name).second) {
      throw Error(file.path + ", line " + std::to_string(line) + ": two columns are called " +
                  Quoted(name) + "; give every column its own name");
    }
    file.names.push_back(std::move(name));
  }
}

}  // namespace

CsvFile OpenCsv(const std::string& path, char delimiter, HeaderLine header, char decimal) {
  if (delimiter != 0 && std::string_view("\"\r\n.+-0123456789").find(delimiter) < 16) {
    throw Error(path + ": a quote, a line end or a part of a number cannot be the delimiter; " +
                "choose a comma, a semicolon, a tab or a blank");
  }
  if (delimiter != 0 && delimiter == decimal) {
    throw Error(path + ": a comma cannot divide cells and be the decimal comma; choose another " +
                OptionName("delimiter"));
  }
  CsvFile file;
  file.path = path;
  file.decimal = decimal;
  file.text = ReadWhole(path);
  if (IsGzip(file.text)) file.text = Gunzip(file.text, path);
  CheckIsText(path, file.text);
  if (file.text.starts_with("\xEF\xBB\xBF")) file.body = 3;
  if (file.text.find_first_not_of(" \t\r\n", file.body) == std::string::npos) {
    throw Error(path + ": the file is empty; give one with a line of column names and rows");
  }
  const std::string_view text = std::string_view(file.text).substr(file.body);
  file.delimiter = delimiter != 0 ? delimiter : GuessDelimiter(text, decimal);
  RowScanner scanner(text, file.delimiter, path);
  if (!scanner.Next()) throw Error(path + ": there is no row in the file; check its delimiter");
  file.has_header = header == HeaderLine::kYes ||
                    (header == HeaderLine::kAuto && LooksLikeHeader(scanner.cells(), decimal));
  NameColumns(file, scanner.cells(), scanner.line());
  if (file.has_header) {
    file.body += scanner.rest();
    file.body_line = scanner.rest_line();
    if (!file.Rows().Next()) {
      throw Error(path + ": there is a line of column names but no row below it; add the rows");
    }
  }
  return file;
}

}  // namespace polykern
