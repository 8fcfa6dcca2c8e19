#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "polykern/net/pki/certificates.h"
#include "polykern/net/pki/client_identity.h"
#include "polykern/net/transport/frames.h"

using SSL = struct ssl_st;
using X509 = struct x509_st;
using SSL_CTX = struct ssl_ctx_st;

namespace polykern {

/// What TLS connections are made with; many share it. Null: no TLS.
using TlsContext = std::shared_ptr<SSL_CTX>;

/// Must a server's peer show a certificate? One that is shown is verified in any case.
enum class PeerCertificate { kNeeded, kOptional };

/// TLS 1.3, or 1.2, where both sides show certificates of one authority. No compression, no
/// renegotiation, no tickets. Who has another role than the one that is awaited does not pass the
/// handshake. Throws Error if a text cannot be used.
TlsContext MakeServerTls(const KeyPair& own, const std::string& authority,
                         Role peers = Role::kClient,
                         PeerCertificate need = PeerCertificate::kNeeded);
TlsContext MakeClientTls(const ClientIdentity& identity, Role peer = Role::kServer);

/// A socket that does not block, with TLS or without. Does not own the socket. Between messages it
/// keeps no buffers. One thread at a time.
class TlsSocket {
 public:
  enum class State {
    kDone,        ///< so many bytes; the handshake is complete
    kNeedsRead,   ///< call it again when there is something to read
    kNeedsWrite,  ///< or when there is room to write
    kClosed,      ///< by the other side
    kFailed,      ///< error() says why
  };
  struct Result {
    State state = State::kDone;
    std::size_t bytes = 0;
  };

  /// `host`: a client's name for its server, which the certificate must bear.
  TlsSocket(TlsContext context, int descriptor, Side side, std::string host);

  Result Handshake();
  Result Read(char* bytes, std::size_t count);
  /// Called again after kNeedsWrite or kNeedsRead, the bytes must be the same.
  Result Write(const char* bytes, std::size_t count);

  /// Bytes that TLS has read and not given out.
  bool HasMore() const;
  /// Tells the other side that nothing more will come, if there is room for it.
  void SayGoodbye();

  /// One line for people.
  const std::string& error() const { return error_; }
  /// The other side's certificate as PEM; empty: none.
  std::string PeerCertificate() const;
  /// The same as TLS has it; null: none.
  std::shared_ptr<X509> Peer() const;
  /// The other side wants HTTP/2, as polykern before 0.2 did.
  bool WantsHttp2() const;

 private:
  void Begin();
  Result ResultOf(int returned);
  Result Plain(long returned);
  std::string WhyFailed() const;

  const TlsContext context_;
  std::unique_ptr<SSL, void (*)(SSL*)> tls_;  // null: none, or nothing has come yet
  const int descriptor_;
  const Side side_;
  std::string host_;
  std::string error_;
};

}  // namespace polykern
