// Any bytes as a CSV file.

#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "memory_file.h"
#include "polykern/core/error.h"
#include "polykern/data/csv.h"

namespace {

using namespace polykern;

void ReadAll(const CsvFile& file) {
  RowScanner rows = file.Rows();
  std::size_t line = 0;
  while (rows.Next()) {
    if (rows.cells().size() != file.names.size() || rows.line() <= line) std::abort();
    line = rows.line();
    for (const Cell& cell : rows.cells()) {
      double value = 0;
      const CellKind kind = ParseCell(cell.text, value, file.decimal);
      if (kind == CellKind::kNumber && !std::isfinite(value)) std::abort();
      if (cell.Unescape().size() > cell.text.size()) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const MemoryFile file;
  file.Write(data, size);
  for (const HeaderLine header : {HeaderLine::kAuto, HeaderLine::kYes, HeaderLine::kNo}) {
    for (const char delimiter : {'\0', ' '}) {
      for (const char decimal : {'.', ','}) {
        try {
          ReadAll(OpenCsv(file.path(), delimiter, header, decimal));
        } catch (const Error&) {
        }
      }
    }
  }
  return 0;
}
