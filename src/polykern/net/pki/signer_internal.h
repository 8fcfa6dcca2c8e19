#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "polykern/core/error.h"
#include "polykern/io/file_lock.h"
#include "polykern/io/files.h"
#include "polykern/net/pki/authority_folder.h"
#include "polykern/net/pki/certificates.h"
#include "polykern/net/pki/dates.h"

namespace polykern {

/// An authority that can sign, read from its folder while holding it. Throws Error, also if it has
/// expired by `now`.
class Signer {
 public:
  static constexpr std::int64_t kDay = 86400;

  Signer(const std::string& folder, std::int64_t now)
      : paths(Checked(folder)), hold_(FileLock::Wait(folder)) {
    pair.certificate = ReadWholeFile(paths.certificate);
    const CertificateFacts facts = ReadCertificate(pair.certificate, paths.certificate);
    pair.key = ReadWholeFile(paths.key);
    CheckKeyPair(pair, paths.certificate, paths.key);
    until = facts.valid.until;
    if (until <= now) {
      throw Error(paths.certificate + ": the authority expired on " + DateText(until) +
                  "; make a new one in another folder with: polykern pki init " +
                  ShellSpelling("dir", "FOLDER"));
    }
  }

  /// From now on, for so many seconds, but not longer than the authority.
  Validity Seconds(std::int64_t seconds, std::int64_t now) const {
    return {now - kCertificateClockSlack, now + std::min(seconds, until - now)};
  }
  Validity Days(std::size_t days, std::int64_t now) const {
    const auto wanted = static_cast<std::int64_t>(days);
    return Seconds(wanted < (until - now) / kDay ? wanted * kDay : until - now, now);
  }

  const AuthorityPaths paths;
  KeyPair pair;
  std::int64_t until = 0;

 private:
  static AuthorityPaths Checked(const std::string& folder) {
    CheckAuthority(folder);
    return AuthorityPaths(folder);
  }

  FileLock hold_;
};

}  // namespace polykern
