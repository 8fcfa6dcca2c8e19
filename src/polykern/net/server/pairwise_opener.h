#pragma once

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "polykern/net/pki/admission.h"
#include "polykern/net/rounds/release_opener.h"

namespace polykern {

/// Where clients mask pairwise, masks cancel in the sum: it hands each client the keys of all
/// others, when all have come, and makes sure that no client is missing in a sum. Any thread may
/// call anything.
class PairwiseOpener final : public ReleaseOpener {
 public:
  /// `certificates`: the authority's folder. Throws Error if it cannot be used.
  PairwiseOpener(const std::string& certificates, std::vector<std::string> clients);

  bool needs_everybody() const override { return true; }
  std::string ClientsNeed() override;
  void AddKey(const std::string& client, const std::string& mask_key) override;
  std::string Open(Release& release, std::span<const std::string> clients) override;

 private:
  const std::vector<std::string> clients_;
  std::mutex mutex_;  // for all that follows
  Admission door_;
  std::map<std::string, std::string> keys_;  // of those that have come, encoded
  std::string roster_;                       // of all, encoded; empty: some have not come
};

}  // namespace polykern
