#pragma once

#include <string>
#include <vector>

#include "polykern/net/pki/authority_folder.h"
#include "polykern/net/pki/certificates.h"

namespace polykern {

/// index.json of an authority's folder: every certificate ever issued to a client or helper, in
/// that order. All throw Error.
std::vector<IssuedCertificate> ReadIndex(const std::string& path);
void WriteIndex(const std::string& path, const std::vector<IssuedCertificate>& all);

/// What is revoked by the list or by the index: a kill may have come between the two. `authority`
/// is its certificate.
RevocationList ReadRevocations(const AuthorityPaths& paths, const std::string& authority,
                               const std::vector<IssuedCertificate>& clients);

}  // namespace polykern
