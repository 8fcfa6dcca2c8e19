#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace polykern {

/// X.509 certificates and what belongs to them, as PEM texts: keys are ECDSA on P-256, signatures
/// SHA-256, serial numbers 128 random bits in hexadecimal. No files here (see authority.h). Times
/// are seconds since 1970. Functions that read throw Error; `what` is the file the text came from,
/// for the message. Any thread may call anything.

struct KeyPair {
  std::string certificate;
  std::string key;
};

struct Validity {
  std::int64_t from = 0;
  std::int64_t until = 0;
};

struct CertificateFacts {
  std::string name;    ///< the common name: a client's identity
  std::string serial;  ///< as `openssl x509 -serial` prints it
  Validity valid;
  std::vector<std::string> hosts;  ///< a server's names and addresses
};

struct Revocation {
  std::string serial;
  std::int64_t when = 0;
};

struct RevocationList {
  std::vector<Revocation> revoked;
  std::int64_t number = 0;  ///< grows with each list
};

/// May this be a client's name? Letters, digits, '.', '_' and '-', 1 to 64 of them, not '.' or '-'
/// in front, so that it can name a folder.
bool IsClientName(std::string_view name);

/// Throws Error unless `host` is a host's name or an IP address.
void CheckHost(const std::string& host);

/// A fresh private key, in PKCS #8.
std::string MakeKey();

/// An authority that may sign certificates and revocation lists, and no other authority.
KeyPair MakeAuthority(const Validity& valid);

/// For a server reached by these names and addresses; it does not pass as a client.
std::string MakeServerCertificate(const KeyPair& authority, const std::string& key,
                                  std::span<const std::string> hosts, const Validity& valid);

/// For the client of this name; it does not pass as a server.
std::string MakeClientCertificate(const KeyPair& authority, const std::string& key,
                                  const std::string& name, const Validity& valid);

/// Signed now; it holds until the authority ends.
std::string MakeRevocationList(const KeyPair& authority, const RevocationList& list,
                               std::int64_t now);

CertificateFacts ReadCertificate(const std::string& pem, const std::string& what);

/// Throws Error, too, if the list is not signed by this authority.
RevocationList ReadRevocationList(const std::string& pem, const std::string& authority,
                                  const std::string& what);

/// Throws Error unless the key can be read and is the certificate's.
void CheckKeyPair(const KeyPair& pair, const std::string& what);

}  // namespace polykern
