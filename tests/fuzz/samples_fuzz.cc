// Any bytes as an agent's input, CSV and JSON lines. The first byte says whether the federation's
// columns have names.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <sstream>

#include "polykern/core/error.h"
#include "polykern/data/samples/sample_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace polykern;
  if (size == 0) return 0;
  SampleColumns columns{.dimension = 2};
  if (data[0] % 2 == 0) columns.inputs = {"a", "b"};
  if (data[0] % 4 == 2) {
    columns.texts = {{"b", {"N"}}};
    columns.impute = true;
  }
  std::istringstream input(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  try {
    SampleReader reader(input, "input", columns);
    InputSample sample;
    std::uint64_t line = 0;
    while (reader.Next(sample)) {
      if (sample.read.line <= line || sample.read.bytes >= size) std::abort();
      line = sample.read.line;
      if (!sample.problem.empty()) continue;
      if (sample.x.empty() ? !(sample.named && sample.y) : sample.x.size() != 2) std::abort();
      if (sample.id.empty() || sample.id.size() > SampleReader::kLongestId) std::abort();
      for (const double x : sample.x) {
        if (!std::isfinite(x) && !(columns.impute && std::isnan(x))) std::abort();
      }
      if (sample.y && !std::isfinite(*sample.y)) std::abort();
    }
  } catch (const Error&) {  // a header that will not do
  }
  return 0;
}
