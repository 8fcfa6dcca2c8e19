#pragma once

#include <cstdint>
#include <string>

#include "polykern/net/pki/admission.h"
#include "polykern/net/pki/certificates.h"
#include "polykern/net/pki/client_identity.h"
#include "polykern/privacy/mask_keys.h"

namespace polykern {

/// A public key for masks with the proof of whose it is. It may pass through hands that no one
/// trusts: a server relays it between clients and helpers. A plain value.
struct SignedMaskKey {
  std::string certificate;  ///< PEM; its common name is the owner's
  PublicKey key{};
  std::string signature;  ///< by the certificate's key, of name and key: ECDSA with SHA-256, DER

  bool operator==(const SignedMaskKey&) const = default;
};

/// Whose key it is, once verified.
struct VerifiedMaskKey {
  std::string name;
  PublicKey key{};
  std::string serial;            ///< of the certificate
  std::int64_t valid_until = 0;  ///< the certificate's end, in seconds since 1970
};

/// A client's or helper's own. Throws Error if it has no key for masks, and says how to get one.
SignedMaskKey SignMaskKey(const ClientIdentity& own);

/// Throws Error, one line that says what is wrong, unless the certificate is our authority's, for
/// this role, within its time and not revoked, and the signature is its owner's. To be asked once
/// for each key: whether its certificate is good later on, `door` says by itself.
VerifiedMaskKey VerifyMaskKey(const SignedMaskKey& mask_key, Role role, Admission& door);

/// The same without a list of what is revoked, by the authority's certificate (PEM): for clients.
VerifiedMaskKey VerifyMaskKey(const SignedMaskKey& mask_key, Role role,
                              const std::string& authority);

}  // namespace polykern
