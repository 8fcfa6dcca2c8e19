#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>

#include "polykern/algorithms/messages.h"
#include "polykern/net/helper/helper_link.h"
#include "polykern/net/pki/admission.h"
#include "polykern/net/server/release_opener.h"

namespace polykern {

/// Takes masks off with the help of a helper. Any thread may call anything.
class HelperOpener final : public ReleaseOpener {
 public:
  /// `ring`: of the sums. Throws Error if the certificates cannot be used.
  HelperOpener(const HelperLinkOptions& options, const Ring& ring);

  std::string ClientsNeed() override;
  void AddKey(const std::string& client, const std::string& mask_key) override;
  std::string Open(Release& release, std::span<const std::string> clients) override;

  /// Why the helper is of no use now; empty: it is.
  std::string trouble() const { return link_.trouble(); }
  /// It waits for nothing any more.
  void Stop() { stop_.request_stop(); }

 private:
  const HelperLinkOptions options_;
  const Ring ring_;
  std::mutex mutex_;  // for the door, and what clients need
  Admission door_;
  std::string key_;
  std::stop_source stop_;
  HelperLink link_;
};

}  // namespace polykern
