#include "polykern/net/agent/agent_masks.h"

#include <span>

#include "polykern/core/error.h"
#include "polykern/net/mask_key_wire.h"
#include "polykern/net/pki/certificates.h"
#include "polykern/net/pki/mask_key_file.h"
#include "polykern/net/pki/signed_mask_key.h"

namespace polykern {

std::optional<MaskIdentity> MaskIdentityOf(const ClientIdentity& own, const std::string& what) {
  if (own.mask_key.empty()) return {};
  return MaskIdentity{ReadCertificate(own.certificate, what).name, own.authority,
                      ReadMaskKey(own.mask_key, what + "/mask.key"), Encode(SignMaskKey(own))};
}

void AgentMasks::Use(const std::optional<MaskIdentity>& own, const std::string& helper_key,
                     const FederationConfiguration& federation, const NoiseTerms& noise) {
  if (!own) {
    throw Error(
        "this federation masks what clients send, and this client has no mask.key: "
        "issue it again with polykern pki issue NAME " +
        ShellSpelling("renew"));
  }
  if (federation.options.masking == Masking::kPairwise) {
    UsePairs(*own, helper_key, federation);
    return;
  }
  const VerifiedMaskKey helper =
      VerifyMaskKey(DecodeMaskKey(helper_key), Role::kHelper, own->authority);
  const std::string binding = BindingOf(noise);
  keys_.pair =
      PairKey(own->key, helper.key,
              {federation.federation_id, federation.epoch, own->name, helper.name, binding});
  keys_.nonces = NonceKeyOf(own->key);
  masks_ = std::make_unique<MaskSealing>(
      federation.epoch, [this](std::uint64_t) -> const ClientMaskKeys& { return keys_; });
}

/// Each key must be that of a client of the federation, and all clients' must be there.
void AgentMasks::UsePairs(const MaskIdentity& own, const std::string& roster,
                          const FederationConfiguration& federation) {
  std::vector<RosterEntry> clients;
  std::vector<std::string> names;
  for (const SignedMaskKey& key : DecodeMaskRoster(roster)) {
    const VerifiedMaskKey verified = VerifyMaskKey(key, Role::kClient, own.authority);
    clients.push_back({verified.name, verified.key});
    names.push_back(verified.name);
    if (verified.name == own.name && verified.key != PublicKeyOf(own.key)) {
      throw Error("the server sent a mask key for this client that is not its own");
    }
  }
  if (names != federation.clients) {
    throw Error("the server sent mask keys of clients that the federation does not have");
  }
  pairs_ = PairedKeys(own.key, own.name, federation.federation_id, federation.epoch, clients);
  masks_ = std::make_unique<PairwiseSealing>(
      federation.epoch,
      RosterTag(RosterDigest(federation.federation_id, federation.epoch, clients)),
      PairwiseRules{.disclosure = federation.options.disclosure},
      [this](std::uint64_t) { return std::span<const PairedKey>(pairs_); });
}

}  // namespace polykern
