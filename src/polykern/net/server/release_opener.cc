#include "polykern/net/server/release_opener.h"

#include "polykern/core/error.h"
#include "polykern/net/mask_key_wire.h"

namespace polykern {

SignedMaskKey ReadClientKey(const std::string& client, const std::string& mask_key,
                            Admission& door) {
  if (mask_key.empty()) {
    throw Error(
        "this federation masks what clients send, and you have no mask key: issue it with "
        "polykern pki issue " +
        client + " " + ShellSpelling("renew"));
  }
  SignedMaskKey key = DecodeMaskKey(mask_key);
  const std::string name = VerifyMaskKey(key, Role::kClient, door).name;
  if (name != client) throw Error("your mask key is that of " + name);
  return key;
}

}  // namespace polykern
