#pragma once

#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "polykern/net/rounds/release_opener.h"
#include "polykern/privacy/noisy_releases.h"

namespace polykern {

/// Adds noise to the sums of a federation that masks nothing, from the system's generator: readers
/// of the model, and other clients, see no more than noisy sums; the server itself sees all. Noise
/// that was drawn and not written with the model after it is drawn again: it was never seen.
/// Any thread may call anything.
class ServerNoise final : public ReleaseOpener {
 public:
  /// Throws Error if no noise is large enough for the terms.
  explicit ServerNoise(const NoiseTerms& terms) : releases_(terms) {}

  bool masked() const override { return false; }
  std::string ClientsNeed() override { return {}; }
  void AddKey(const std::string& /*client*/, const std::string& /*mask_key*/) override {}
  std::string Open(Release& release, std::span<const std::string> clients) override;
  OpenerStatus status() const override;
  std::vector<double> Save() const override;
  void Load(std::span<const double> saved) override;

 private:
  mutable std::mutex mutex_;  // for all that follows
  SystemBits bits_;
  NoisyReleases releases_;
};

/// What they have cost.
OpenerStatus::Noise NoiseStatusOf(const NoisyReleases& releases);

}  // namespace polykern
