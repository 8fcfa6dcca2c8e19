#pragma once

#include <optional>
#include <string>

#include "polykern/federation/sealing.h"
#include "polykern/net/configuration.h"
#include "polykern/privacy/mask_keys.h"
#include "polykern/privacy/mask_sealing.h"

namespace polykern {

/// What an agent masks its messages with.
struct MaskIdentity {
  std::string name;        ///< of the client, as in its certificate
  std::string authority;   ///< PEM: whose helpers it trusts
  SecretKey key;           ///< its mask key
  std::string signed_key;  ///< the other half, for the server's helper (SignedMaskKey)
};

/// Masks of one agent: none before Use, and plain messages where nothing is masked. One thread.
class AgentMasks final : public Sealing {
 public:
  /// From here on messages are masked for the federation's helper, whose signed key came with the
  /// welcome. Throws Error if this agent has no mask key, or the helper's is not good.
  void Use(const std::optional<MaskIdentity>& own, const std::string& helper_key,
           const FederationConfiguration& federation);
  bool ready() const { return masks_.has_value(); }

  const Updates& Seal(const ModelShape& shape, const Updates& learnt,
                      Updates& sealed) const override {
    return masks_ ? masks_->Seal(shape, learnt, sealed) : learnt;
  }

 private:
  ClientMaskKeys keys_;
  std::optional<MaskSealing> masks_;
};

}  // namespace polykern
