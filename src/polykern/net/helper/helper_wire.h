#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "polykern/net/helper/release.h"
#include "polykern/net/pki/signed_mask_key.h"

namespace polykern {

/// The messages of proto/polykern/v1/helper.proto as plain structs, to bytes and back. Pure
/// functions; any thread may call anything. Decoding takes any bytes: what is not a message, or
/// has numbers that cannot be, throws Error.

inline constexpr std::uint32_t kHelperVersion = 1;

/// Where a WebSocket to a helper is opened.
inline constexpr const char* kHelperTarget = "/polykern-helper";

struct HelperHello {
  std::uint32_t version = kHelperVersion;
  std::string federation = {};
  std::uint64_t epoch = 0;
  NoiseTerms noise = {};
};

struct HelperQuestion {
  std::uint64_t id = 0;  ///< comes back with the answer
  ReleaseRequest release = {};
  std::map<std::string, SignedMaskKey> keys = {};  ///< of clients
};

/// Before a release needs them.
struct HelperKeys {
  std::uint64_t id = 0;  ///< comes back with an answer that has no streams
  std::map<std::string, SignedMaskKey> keys = {};  ///< of clients
};

struct HelperWelcome {
  std::uint32_t version = kHelperVersion;
  SignedMaskKey key = {};
  std::uint64_t releases = 0;  ///< that it has settled in this epoch, by an answer or for good
  bool takes_keys = false;     ///< HelperKeys
  std::uint64_t noisy = 0;     ///< answered with noise: the next answer is made of all of them
};

struct HelperAnswer {
  std::uint64_t id = 0;
  HelperReply reply = {};
};

using ToHelper = std::variant<HelperHello, HelperQuestion, HelperKeys>;
using FromHelper = std::variant<HelperWelcome, HelperAnswer>;

std::string Encode(const HelperHello& hello);
std::string Encode(const HelperQuestion& question);
std::string Encode(const HelperKeys& keys);
std::string Encode(const HelperWelcome& welcome);
std::string Encode(const HelperAnswer& answer);

ToHelper DecodeToHelper(std::string_view bytes);
FromHelper DecodeFromHelper(std::string_view bytes);

/// No message to a helper of so many clients is longer.
std::size_t LongestToHelper(std::size_t clients);
/// Nor is one from it, with so many numbers in a release.
std::size_t LongestFromHelper(std::size_t numbers);

}  // namespace polykern
