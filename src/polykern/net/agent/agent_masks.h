#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "polykern/federation/sealing.h"
#include "polykern/net/configuration.h"
#include "polykern/net/pki/client_identity.h"
#include "polykern/privacy/mask_keys.h"
#include "polykern/privacy/mask_sealing.h"
#include "polykern/privacy/noise_terms.h"
#include "polykern/privacy/pairwise_sealing.h"

namespace polykern {

/// What an agent masks its messages with.
struct MaskIdentity {
  std::string name;        ///< of the client, as in its certificate
  std::string authority;   ///< PEM: whose helpers it trusts
  SecretKey key;           ///< its mask key
  std::string signed_key;  ///< the other half, for the server's helper (SignedMaskKey)
};

/// From a client's folder, which `what` names in messages. None: it is older than masks. Throws
/// Error if its mask key is damaged.
std::optional<MaskIdentity> MaskIdentityOf(const ClientIdentity& own, const std::string& what);

/// Masks of one agent: none before Use, and plain messages where nothing is masked. One thread.
class AgentMasks final : public Sealing {
 public:
  /// From here on messages are masked for the federation's helper, whose signed key came with the
  /// welcome, or with all other clients, whose keys did. Throws Error if this agent has no mask
  /// key, or what came is not good.
  /// `noise`: what the federation promises, to which masks are bound.
  void Use(const std::optional<MaskIdentity>& own, const std::string& helper_key,
           const FederationConfiguration& federation, const NoiseTerms& noise);
  bool ready() const { return masks_ != nullptr; }

  const Updates& Seal(const ModelShape& shape, const Updates& learnt,
                      Updates& sealed) const override {
    return masks_ ? masks_->Seal(shape, learnt, sealed) : learnt;
  }

 private:
  void UsePairs(const MaskIdentity& own, const std::string& roster,
                const FederationConfiguration& federation);

  ClientMaskKeys keys_;           // with a helper
  std::vector<PairedKey> pairs_;  // without one: with all other clients
  std::unique_ptr<Sealing> masks_;
};

}  // namespace polykern
