#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "polykern/net/pki/signed_mask_key.h"

namespace polykern {
namespace v1 {
class SignedMaskKey;
}

/// Keys for masks as bytes, and as parts of other messages (proto/polykern/v1/helper.proto): what
/// agents, server and helper tell each other. Pure functions; any thread may call anything.
/// Decoding takes any bytes: what cannot be a key throws Error.

inline constexpr std::size_t kLongestCertificate = 8192;  ///< PEM

std::string Encode(const SignedMaskKey& key);
SignedMaskKey DecodeMaskKey(std::string_view bytes);

/// The keys of all clients, where these mask pairwise.
std::string EncodeMaskRoster(const std::vector<SignedMaskKey>& keys);
std::vector<SignedMaskKey> DecodeMaskRoster(std::string_view bytes);

void PutMaskKey(const SignedMaskKey& key, v1::SignedMaskKey& out);
SignedMaskKey GetMaskKey(const v1::SignedMaskKey& in);

}  // namespace polykern
