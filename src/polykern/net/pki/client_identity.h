#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace polykern {

/// What a client, a helper or a server shows and trusts, as PEM texts. A plain value.
struct ClientIdentity {
  std::string authority;
  std::string certificate;
  std::string key;
  std::string mask_key = {};  ///< empty: a server's, or its folder is older than masked sums
};

/// From a folder that `polykern pki issue` made. Throws Error, which names the file, if one is
/// missing or damaged, if key and certificate do not belong together, or if the certificate has
/// expired by `now`.
ClientIdentity ReadClientIdentity(const std::string& folder, std::int64_t now);

/// The same of a folder that `polykern pki helper` made, which has a key for masks. `keys`: the
/// folder of helper.key and mask.key, if that is another one.
ClientIdentity ReadHelperIdentity(const std::string& folder, std::int64_t now,
                                  const std::string& keys = {});

/// The same of a folder that `polykern pki init` made; an expired one is left to those who see it.
/// `keys`: the folder of server.key, if that is another one.
ClientIdentity ReadServerIdentity(const std::string& folder, const std::string& keys = {});

/// Those of the first `count` clients' folders in a folder like pki/clients, in the order of their
/// names, as they are. Throws Error if there are fewer.
std::vector<ClientIdentity> ReadClientIdentities(const std::string& folder, std::size_t count);

/// Fresh ones, NAME-0, NAME-1 and so on, from the authority in this folder, good for a day around
/// `now`. Nothing of them is written down, so they cannot be revoked: for authorities that are made
/// for the occasion. Throws Error if there is no authority.
std::vector<ClientIdentity> MakeClientIdentities(const std::string& authority_folder,
                                                 const std::string& name, std::size_t count,
                                                 std::int64_t now);

}  // namespace polykern
