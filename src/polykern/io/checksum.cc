#include "polykern/io/checksum.h"

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <memory>
#include <system_error>
#include <vector>

#include <openssl/evp.h>

#include "polykern/core/error.h"

namespace polykern {
namespace {

constexpr const char* kDigits = "0123456789abcdef";

class Sha256Sum {
 public:
  Sha256Sum() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    Require(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }
  void Add(const void* bytes, std::size_t count) {
    Require(EVP_DigestUpdate(context_.get(), bytes, count) == 1);
  }
  std::array<std::byte, 32> End() {
    std::array<std::byte, 32> sum{};
    auto* const to = reinterpret_cast<unsigned char*>(sum.data());
    Require(EVP_DigestFinal_ex(context_.get(), to, nullptr) == 1);
    return sum;
  }

 private:
  static void Require(bool good) {
    if (!good) throw Error("OpenSSL cannot compute SHA-256");
  }

  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::array<std::byte, 32> Sha256(std::span<const std::byte> bytes) {
  Sha256Sum sum;
  sum.Add(bytes.data(), bytes.size());
  return sum.End();
}

std::string Sha256OfFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  Sha256Sum sum;
  std::vector<char> block(std::size_t{1} << 16U);
  while (file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    sum.Add(block.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.eof()) {
    throw Error(path + ": cannot be read (" + std::generic_category().message(errno) +
                "); check its permissions");
  }
  std::string text;
  for (const std::byte byte : sum.End()) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4U];
    text += kDigits[std::to_integer<unsigned>(byte) & 15U];
  }
  return text;
}

std::string Fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::string digits(16, '0');
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, hash >>= 4) {
    *digit = kDigits[hash & 15];
  }
  return digits;
}

}  // namespace polykern
