#include "polykern/net/mask_key_wire.h"

#include <algorithm>

#include "polykern/net/parse_message.h"
#include "polykern/v1/helper.pb.h"

namespace polykern {

constexpr std::size_t kLongestSignature = 256;

void PutMaskKey(const SignedMaskKey& key, v1::SignedMaskKey& out) {
  out.set_certificate(key.certificate);
  out.set_key(key.key.data(), key.key.size());
  out.set_signature(key.signature);
}

SignedMaskKey GetMaskKey(const v1::SignedMaskKey& in) {
  SignedMaskKey key{.certificate = in.certificate(), .key = {}, .signature = in.signature()};
  if (in.key().size() != key.key.size() || key.certificate.size() > kLongestCertificate ||
      key.signature.size() > kLongestSignature) {
    throw Error("received a mask key of the wrong length");
  }
  std::copy(in.key().begin(), in.key().end(), reinterpret_cast<char*>(key.key.data()));
  return key;
}

std::string Encode(const SignedMaskKey& key) {
  v1::SignedMaskKey message;
  PutMaskKey(key, message);
  return message.SerializeAsString();
}

SignedMaskKey DecodeMaskKey(std::string_view bytes) {
  return GetMaskKey(Parse<v1::SignedMaskKey>(bytes));
}

std::string EncodeMaskRoster(const std::vector<SignedMaskKey>& keys) {
  v1::MaskRoster message;
  for (const SignedMaskKey& key : keys) PutMaskKey(key, *message.add_keys());
  return message.SerializeAsString();
}

std::vector<SignedMaskKey> DecodeMaskRoster(std::string_view bytes) {
  const auto message = Parse<v1::MaskRoster>(bytes);
  std::vector<SignedMaskKey> keys;
  for (const v1::SignedMaskKey& key : message.keys()) keys.push_back(GetMaskKey(key));
  return keys;
}

}  // namespace polykern
