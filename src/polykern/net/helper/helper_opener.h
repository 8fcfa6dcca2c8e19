#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "polykern/algorithms/messages.h"
#include "polykern/net/helper/helper_link.h"
#include "polykern/net/pki/admission.h"
#include "polykern/net/rounds/release_opener.h"
#include "polykern/privacy/noisy_releases.h"

namespace polykern {

/// Takes masks off with the help of a helper, which adds noise where that is promised: then nothing
/// comes off, but from weighted sums of all that was ever sent. Any thread may call anything.
class HelperOpener final : public ReleaseOpener {
 public:
  /// `ring`: of the sums. Throws Error if the certificates cannot be used, or no noise is large
  /// enough.
  HelperOpener(const HelperLinkOptions& options, const Ring& ring);

  std::string ClientsNeed() override;
  void AddKey(const std::string& client, const std::string& mask_key) override;
  std::string Open(Release& release, std::span<const std::string> clients) override;

  std::uint64_t settled() const override;
  void Stop() override { stop_.request_stop(); }
  OpenerStatus status() const override;
  std::vector<double> Save() const override;
  void Load(std::span<const double> saved) override;

 private:
  std::string Forgotten(const Release& release, bool refused);
  void AddNoisy(std::span<const std::uint64_t> told, Release& release);

  const HelperLinkOptions options_;
  const Ring ring_;
  std::mutex mutex_;  // for the door, and what clients need
  Admission door_;
  std::string key_;
  std::stop_source stop_;
  mutable std::mutex noisy_mutex_;
  std::optional<NoisyReleases> noisy_;  // none: there is no noise
  std::string forgotten_;               // why nothing can be opened any more
  HelperLink link_;
};

}  // namespace polykern
