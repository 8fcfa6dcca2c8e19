#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polykern/net/pki/role.h"

namespace polykern {

/// X.509 certificates and what belongs to them, as PEM texts: keys are ECDSA on P-256, signatures
/// SHA-256, serial numbers 128 random bits in hexadecimal. No files here (see authority.h). Times
/// are seconds since 1970. Functions that read throw Error; `what` is the file the text came from,
/// for the message. Any thread may call anything.

/// Certificates begin so many seconds early: other machines' clocks may be behind.
inline constexpr std::int64_t kCertificateClockSlack = 3600;

struct KeyPair {
  std::string certificate;
  std::string key;
};

struct Validity {
  std::int64_t from = 0;
  std::int64_t until = 0;
};

struct CertificateFacts {
  std::string name;    ///< the common name: a client's or helper's identity
  std::string serial;  ///< as `openssl x509 -serial` prints it
  Validity valid;
  std::vector<std::string> hosts;  ///< a server's or helper's names and addresses
};

struct Revocation {
  std::string serial;
  std::int64_t when = 0;
};

struct RevocationList {
  std::vector<Revocation> revoked;
  std::int64_t number = 0;  ///< grows with each list
};

/// May this be a client's or helper's name? Letters, digits, '.', '_' and '-', 1 to 64 of them, not
/// '.' or '-' in front, so that it can name a folder.
bool IsClientName(std::string_view name);

/// No client's name: it has a blank.
inline constexpr char kServerName[] = "polykern server";

/// Throws Error unless `host` is a host's name or an IP address.
void CheckHost(const std::string& host);

/// A fresh private key, in PKCS #8.
std::string MakeKey();

/// An authority that may sign certificates and revocation lists, and no other authority.
KeyPair MakeAuthority(const Validity& valid);

/// For a server reached by these names and addresses; its common name is kServerName.
std::string MakeServerCertificate(const KeyPair& authority, const std::string& key,
                                  std::span<const std::string> hosts, const Validity& valid);

/// For the client of this name.
std::string MakeClientCertificate(const KeyPair& authority, const std::string& key,
                                  const std::string& name, const Validity& valid);

/// For the client that another certificate is for, and its key.
std::string RenewClientCertificate(const KeyPair& authority, const std::string& certificate,
                                   const Validity& valid);

/// For the helper of this name, reached by these names and addresses. Its purpose is one of our
/// own, which TLS does not know: no server takes it for a client, no client for a server, not even
/// those that have never heard of helpers.
std::string MakeHelperCertificate(const KeyPair& authority, const std::string& key,
                                  const std::string& name, std::span<const std::string> hosts,
                                  const Validity& valid);

/// Signed now; it holds until the authority ends.
std::string MakeRevocationList(const KeyPair& authority, const RevocationList& list,
                               std::int64_t now);

CertificateFacts ReadCertificate(const std::string& pem, const std::string& what);

/// Throws Error, too, if the list is not signed by this authority.
RevocationList ReadRevocationList(const std::string& pem, const std::string& authority,
                                  const std::string& what);

/// Throws Error unless both can be read and the key is the certificate's. `whose` names the
/// certificate, `what` the key.
void CheckKeyPair(const KeyPair& pair, const std::string& whose, const std::string& what);

}  // namespace polykern
