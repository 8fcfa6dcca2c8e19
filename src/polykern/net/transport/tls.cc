#include "polykern/net/transport/tls.h"

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "polykern/core/error.h"
#include "polykern/net/pki/openssl_internal.h"
#include "polykern/net/transport/failure_words.h"

namespace polykern {
namespace {

constexpr std::string_view kHttp1 = "\x08http/1.1";
constexpr std::string_view kHttp2 = "\x02h2";

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

/// HTTP/1.1, or HTTP/2 from a peer that offers nothing else: so that it can be named and told apart
/// once its certificate is known.
int ChooseProtocol(SSL*, const unsigned char** chosen, unsigned char* size,
                   const unsigned char* offered, unsigned int count, void*) {
  static const std::string known = std::string(kHttp1) + std::string(kHttp2);
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, size, Bytes(known), static_cast<unsigned>(known.size()),
                            offered, count) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

TlsContext MakeContext(const SSL_METHOD* method, const std::string& authority, const KeyPair& own) {
  const TlsContext context(SSL_CTX_new(method), SSL_CTX_free);
  Require(context != nullptr);
  SSL_CTX* const c = context.get();
  Require(SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION) == 1);
  SSL_CTX_set_options(c, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
                             SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(c, 0);
  // No chain beside the certificate: the other side has the authority's, and OpenSSL would look for
  // it, and verify it, with every handshake.
  SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                          SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_NO_AUTO_CHAIN);
  // A read returns after each record of TLS's own, so that a flood of them is seen.
  SSL_CTX_clear_mode(c, SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_read_ahead(c, 1);  // one system call instead of two for a record
  const CertificatePtr root = NeedCertificate(authority, "the authority's certificate");
  Require(X509_STORE_add_cert(SSL_CTX_get_cert_store(c), root.get()) == 1);
  const CertificatePtr certificate = NeedCertificate(own.certificate, "this side's certificate");
  const KeyPtr key = ParseKey(own.key, "the key of this side's certificate");
  Require(SSL_CTX_use_certificate(c, certificate.get()) == 1);
  Require(SSL_CTX_use_PrivateKey(c, key.get()) == 1);
  return context;
}

/// Refuses a peer that has another role.
template <Role kRole>
int CheckRole(int good, X509_STORE_CTX* context) {
  if (good != 1 || X509_STORE_CTX_get_error_depth(context) != 0) return good;
  if (HasRole(X509_STORE_CTX_get0_cert(context), kRole)) return 1;
  X509_STORE_CTX_set_error(context, X509_V_ERR_INVALID_PURPOSE);
  return 0;
}

/// OpenSSL alone awaits clients at one end and servers at the other, the `usual` role, and
/// knows no other.
void Await(SSL_CTX* context, Role role, Role usual, int mode) {
  if (role != usual) {
    Require(X509_VERIFY_PARAM_set_purpose(SSL_CTX_get0_param(context), X509_PURPOSE_ANY) == 1);
  }
  SSL_CTX_set_verify(context, mode,
                     role == Role::kClient   ? CheckRole<Role::kClient>
                     : role == Role::kServer ? CheckRole<Role::kServer>
                                             : CheckRole<Role::kHelper>);
}

}  // namespace

TlsContext MakeServerTls(const KeyPair& own, const std::string& authority, Role peers,
                         PeerCertificate need) {
  TlsContext context = MakeContext(TLS_server_method(), authority, own);
  const bool needed = need == PeerCertificate::kNeeded;
  Await(context.get(), peers, Role::kClient,
        needed ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT : SSL_VERIFY_PEER);
  const CertificatePtr root = NeedCertificate(authority, "the authority's certificate");
  Require(SSL_CTX_add_client_CA(context.get(), root.get()) == 1);
  SSL_CTX_set_alpn_select_cb(context.get(), ChooseProtocol, nullptr);
  Require(X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context.get()), X509_V_FLAG_X509_STRICT) ==
          1);
  return context;
}

TlsContext MakeClientTls(const ClientIdentity& identity, Role peer) {
  TlsContext context =
      MakeContext(TLS_client_method(), identity.authority, {identity.certificate, identity.key});
  Await(context.get(), peer, Role::kServer, SSL_VERIFY_PEER);
  Require(SSL_CTX_set_alpn_protos(context.get(), Bytes(kHttp1),
                                  static_cast<unsigned>(kHttp1.size())) == 0);
  return context;
}

TlsSocket::TlsSocket(TlsContext context, int descriptor, Side side, std::string host)
    : context_(std::move(context)),
      tls_(nullptr, SSL_free),
      descriptor_(descriptor),
      side_(side),
      host_(std::move(host)) {}

/// Not before it has to: who connects and says nothing costs little.
void TlsSocket::Begin() {
  tls_.reset(SSL_new(context_.get()));
  Require(tls_ != nullptr && SSL_set_fd(tls_.get(), descriptor_) == 1);
  if (side_ == Side::kServer) {
    SSL_set_accept_state(tls_.get());
    return;
  }
  SSL_set_connect_state(tls_.get());
  if (IsAddress(host_)) {
    Require(X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls_.get()), host_.c_str()) == 1);
  } else {
    Require(SSL_ctrl(tls_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                     host_.data()) == 1);
    Require(SSL_set1_host(tls_.get(), host_.c_str()) == 1);
  }
}

TlsSocket::Result TlsSocket::Handshake() {
  if (context_ == nullptr) return {};
  if (tls_ == nullptr) Begin();
  ERR_clear_error();
  return ResultOf(SSL_do_handshake(tls_.get()));
}

TlsSocket::Result TlsSocket::Read(char* bytes, std::size_t count) {
  if (tls_ == nullptr) {
    const long got = recv(descriptor_, bytes, count, 0);
    return got == 0 ? Result{State::kClosed} : Plain(got);
  }
  ERR_clear_error();
  return ResultOf(SSL_read(tls_.get(), bytes, static_cast<int>(count)));
}

TlsSocket::Result TlsSocket::Write(const char* bytes, std::size_t count) {
  if (tls_ == nullptr) {
    const Result result = Plain(send(descriptor_, bytes, count, MSG_NOSIGNAL));
    return result.state == State::kNeedsRead ? Result{State::kNeedsWrite} : result;
  }
  ERR_clear_error();
  return ResultOf(SSL_write(tls_.get(), bytes, static_cast<int>(count)));
}

TlsSocket::Result TlsSocket::Plain(long returned) {
  if (returned >= 0) return {State::kDone, static_cast<std::size_t>(returned)};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {State::kNeedsRead};
  error_ = WhyCut(errno);
  return {State::kFailed};
}

TlsSocket::Result TlsSocket::ResultOf(int returned) {
  if (returned > 0) return {State::kDone, static_cast<std::size_t>(returned)};
  switch (SSL_get_error(tls_.get(), returned)) {
    case SSL_ERROR_WANT_READ:
      return {State::kNeedsRead};
    case SSL_ERROR_WANT_WRITE:
      return {State::kNeedsWrite};
    case SSL_ERROR_ZERO_RETURN:
      return {State::kClosed};
    default:
      error_ = WhyFailed();
      return {State::kFailed};
  }
}

bool TlsSocket::HasMore() const {
  return tls_ != nullptr && SSL_has_pending(tls_.get()) == 1;
}

void TlsSocket::SayGoodbye() {
  if (tls_ == nullptr || !error_.empty()) return;
  ERR_clear_error();
  SSL_shutdown(tls_.get());
}

std::string TlsSocket::WhyFailed() const {
  const long verdict = SSL_get_verify_result(tls_.get());
  if (verdict != X509_V_OK) return WhyNotTrusted(verdict, side_, host_);
  const unsigned long code = ERR_peek_error();
  return code == 0 ? WhyCut(errno) : WhyTlsFailed(code, side_);
}

std::shared_ptr<X509> TlsSocket::Peer() const {
  if (tls_ == nullptr) return nullptr;
  return {SSL_get1_peer_certificate(tls_.get()), X509_free};
}

std::string TlsSocket::PeerCertificate() const {
  if (tls_ == nullptr) return {};
  const CertificatePtr certificate(SSL_get1_peer_certificate(tls_.get()));
  if (certificate == nullptr) return {};
  return Pem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate.get()); });
}

bool TlsSocket::WantsHttp2() const {
  if (tls_ == nullptr) return false;
  const unsigned char* chosen = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(tls_.get(), &chosen, &size);
  return std::string_view(reinterpret_cast<const char*>(chosen), size) == "h2";
}

}  // namespace polykern
