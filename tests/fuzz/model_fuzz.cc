// An exported model that is not what it was. First byte even: the rest is the whole file. Odd: the
// rest is its message, under a sum that is right. What is a model must survive being encoded again.

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "polykern/core/error.h"
#include "polykern/io/checksum.h"
#include "polykern/net/exported_model.h"

namespace {

using namespace polykern;

std::string FileOf(std::string_view message) {
  const auto sum = Sha256(std::as_bytes(std::span(message)));
  return "polykern model\n" + std::string(reinterpret_cast<const char*>(sum.data()), sum.size()) +
         std::string(message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    const std::string once =
        EncodeExport(DecodeExport(data[0] % 2 == 0 ? std::string(bytes) : FileOf(bytes)));
    if (EncodeExport(DecodeExport(once)) != once) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
