#include "polykern/net/server/pairwise_opener.h"

#include <algorithm>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/net/mask_key_wire.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/pki/signed_mask_key.h"
#include "polykern/privacy/pairwise_sealing.h"

namespace polykern {

PairwiseOpener::PairwiseOpener(const std::string& certificates, std::vector<std::string> clients)
    : clients_(std::move(clients)),
      door_(AuthorityPaths(certificates).certificate, AuthorityPaths(certificates).revocations) {}

std::string PairwiseOpener::ClientsNeed() {
  const std::lock_guard lock(mutex_);
  return roster_;
}

void PairwiseOpener::AddKey(const std::string& client, const std::string& mask_key) {
  const std::lock_guard lock(mutex_);
  const SignedMaskKey key = ReadClientKey(client, mask_key, door_);
  if (std::ranges::count(clients_, client) == 0) return;  // it is turned away for that
  const auto known = keys_.find(client);
  if (known != keys_.end() && DecodeMaskKey(known->second).key != key.key) {
    throw Error(
        "your mask key has changed since this server was started, and the others have masked for "
        "the one before: start a new epoch with `polykern store epoch`");
  }
  keys_.insert_or_assign(client, mask_key);
  if (keys_.size() < clients_.size()) return;
  std::vector<SignedMaskKey> all;
  for (const std::string& name : clients_) all.push_back(DecodeMaskKey(keys_.at(name)));
  roster_ = EncodeMaskRoster(all);
}

std::string PairwiseOpener::Open(Release& release, std::span<const std::string>) {
  release.refusal = PairwiseRefusal(release, clients_.size());
  return {};
}

}  // namespace polykern
