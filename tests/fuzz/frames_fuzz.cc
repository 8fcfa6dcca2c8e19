// What a peer may send before and after a WebSocket is open: heads of HTTP, and frames. However the
// bytes are cut, the same comes of them.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "polykern/core/error.h"
#include "polykern/net/transport/frames.h"
#include "polykern/net/transport/http_head.h"

namespace {

using namespace polykern;

std::string ReadFrames(Side side, std::size_t longest, std::string_view bytes,
                       std::size_t at_once) {
  FrameReader reader(side, longest);
  std::string seen;
  try {
    while (!bytes.empty()) {
      std::string_view part = bytes.substr(0, at_once);
      bytes.remove_prefix(part.size());
      while (const auto frame = reader.Next(part)) {
        if (frame->payload.size() > std::max<std::size_t>(longest, 125)) std::abort();
        seen += static_cast<char>(frame->opcode) + frame->payload;
        if (frame->opcode == Opcode::kClose) ReadClose(frame->payload);
      }
      if (!part.empty()) std::abort();
    }
  } catch (const Error& error) {
    seen += error.what();
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const Side side = data[0] % 2 == 0 ? Side::kServer : Side::kClient;
  const std::size_t longest = std::size_t{data[0]} * 8;
  const std::size_t at_once = 1 + data[1];
  const std::string_view bytes(reinterpret_cast<const char*>(data + 2), size - 2);
  if (ReadFrames(side, longest, bytes, at_once) != ReadFrames(side, longest, bytes, size)) {
    std::abort();
  }
  for (const auto take : {TakeRequestHead, TakeAnswerHead}) {
    std::string head(bytes);
    try {
      take(head);
    } catch (const Error&) {
    }
  }
  return 0;
}
