#pragma once

#include <string>

#include "polykern/privacy/mask_keys.h"

namespace polykern {

/// The text of mask.key, a secret key for masks: X25519 in PKCS #8, PEM. Pure functions but for the
/// random bits of a new one.
std::string MakeMaskKey();

/// What is in such a text, which came from the file `what`. Throws Error if it is none.
SecretKey ReadMaskKey(const std::string& pem, const std::string& what);

}  // namespace polykern
