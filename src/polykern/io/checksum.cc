#include "polykern/io/checksum.h"

#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <system_error>
#include <vector>

#include <openssl/evp.h>

#include "polykern/core/error.h"

namespace polykern {

std::string Sha256OfFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest(EVP_MD_CTX_new(),
                                                                       &EVP_MD_CTX_free);
  bool good = digest != nullptr && EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr) == 1;
  std::vector<char> block(std::size_t{1} << 16U);
  while (good && file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    good =
        EVP_DigestUpdate(digest.get(), block.data(), static_cast<std::size_t>(file.gcount())) == 1;
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  unsigned int length = 0;
  if (!file.eof() || !good || EVP_DigestFinal_ex(digest.get(), sum.data(), &length) != 1) {
    throw Error(path + ": cannot be read (" + std::generic_category().message(errno) +
                "); check its permissions");
  }
  std::string text;
  for (unsigned int i = 0; i < length; ++i) {
    text += "0123456789abcdef"[sum[i] >> 4U];
    text += "0123456789abcdef"[sum[i] & 15U];
  }
  return text;
}

}  // namespace polykern
