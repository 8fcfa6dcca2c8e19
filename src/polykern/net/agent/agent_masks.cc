#include "polykern/net/agent/agent_masks.h"

#include "polykern/core/error.h"
#include "polykern/net/helper/helper_wire.h"
#include "polykern/net/pki/signed_mask_key.h"

namespace polykern {

void AgentMasks::Use(const std::optional<MaskIdentity>& own, const std::string& helper_key,
                     const FederationConfiguration& federation) {
  if (!own) {
    throw Error(
        "this federation masks what clients send, and this client has no mask.key: issue "
        "it anew with polykern pki issue NAME " +
        ShellSpelling("renew"));
  }
  const VerifiedMaskKey helper =
      VerifyMaskKey(DecodeMaskKey(helper_key), Role::kHelper, own->authority);
  keys_.pair = PairKey(own->key, helper.key,
                       {federation.federation_id, federation.epoch, own->name, helper.name});
  keys_.nonces = NonceKeyOf(own->key);
  masks_.emplace(federation.epoch,
                 [this](std::uint64_t) -> const ClientMaskKeys& { return keys_; });
}

}  // namespace polykern
