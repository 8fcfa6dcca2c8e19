#include "polykern/data/gzip.h"

#include <algorithm>
#include <limits>
#include <memory>

#include <zlib.h>

#include "polykern/core/error.h"

namespace polykern {

bool IsGzip(std::string_view bytes) {
  return bytes.starts_with("\x1F\x8B");
}

std::string Gunzip(std::string_view packed, const std::string& path, std::size_t most) {
  constexpr int kGzipOnly = 15 + 16;  // zlib's way to say so
  constexpr std::size_t kLeast = std::size_t{1} << 16U;
  z_stream stream = {};
  if (inflateInit2(&stream, kGzipOnly) != Z_OK) throw Error(path + ": there is too little memory");
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&stream, &inflateEnd);
  const auto part = [](std::size_t size) {
    return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
  };
  std::string text;
  std::size_t filled = 0;
  std::size_t taken = 0;
  for (;;) {
    if (filled == text.size()) {
      if (filled > most) {
        throw Error(path + ": it unpacks to more than " + std::to_string(most) +
                    " bytes; divide it into smaller files");
      }
      text.resize(std::min(std::max(kLeast, 2 * filled), most + 1));
    }
    // zlib does not write to its input, but is not declared so in older versions.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + taken));
    stream.avail_in = part(packed.size() - taken);
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + filled);
    stream.avail_out = part(text.size() - filled);
    const uInt offered = stream.avail_in;
    const uInt room = stream.avail_out;
    const int code = inflate(&stream, Z_NO_FLUSH);
    taken += offered - stream.avail_in;
    filled += room - stream.avail_out;
    if (code == Z_STREAM_END) {
      if (taken == packed.size()) break;
      inflateReset(&stream);  // another part follows
    } else if (code != Z_OK || (taken == packed.size() && stream.avail_out > 0)) {
      throw Error(path + ": the gzip file is damaged or cut off; get it again");
    }
  }
  if (filled > most) {
    throw Error(path + ": it unpacks to more than " + std::to_string(most) +
                " bytes; divide it into smaller files");
  }
  text.resize(filled);
  return text;
}

}  // namespace polykern
