#include "polykern/net/transport/failure_words.h"

#include <cerrno>

#include <boost/asio/error.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include "polykern/core/error.h"
#include "polykern/net/pki/openssl_internal.h"

namespace polykern {
namespace {

/// What the other side has against our certificate; empty: it is something else.
std::string ComplaintOf(int reason) {
  switch (reason) {
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return "it is from another authority";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return "it has expired, or a clock is wrong";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
      return "it is revoked";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
      return "it is not made for this, or is from another authority";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return "there is none";
    default:
      return {};
  }
}

}  // namespace

std::string WhyNotConnected(const boost::system::error_code& error) {
  namespace asio = boost::asio::error;
  if (error == asio::host_not_found || error == asio::host_not_found_try_again ||
      error == asio::no_data || error == asio::service_not_found) {
    return "this name is not known; check it, and this machine's DNS";
  }
  if (error == asio::connection_refused) {
    return "nothing listens there; is it running, and is the port right?";
  }
  if (error == asio::timed_out) {
    return "no answer; check the address, and any firewall in between";
  }
  if (error == asio::network_unreachable || error == asio::host_unreachable) {
    return "no route to it from here; check this machine's network, and the address";
  }
  if (error == asio::access_denied || error == asio::no_permission) {
    return "this machine does not allow it; check its firewall";
  }
  if (error == asio::no_descriptors)
    return "too many files are open; raise their limit (ulimit -n)";
  return WhyCut(error.value());
}

std::string WhyCut(int error) {
  switch (error) {
    case 0:
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE:
      return "the connection was cut";
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENETDOWN:
      return "the network in between is down";
    default:
      return "the connection failed; check this machine's network (error " + std::to_string(error) +
             " of the system)";
  }
}

std::string WhyTlsFailed(unsigned long error, Side side) {
  const bool client = side == Side::kClient;
  const int reason = ERR_GET_REASON(error);
  if (const std::string complaint = ComplaintOf(reason); !complaint.empty()) {
    return client ? "the server does not accept this agent's certificate: " + complaint +
                        "; get one from the server's authority (polykern pki issue)"
                  : "the client does not accept the server's certificate: " + complaint;
  }
  switch (reason) {
    case SSL_R_UNEXPECTED_EOF_WHILE_READING:
      return WhyCut(0);
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return "it shows no certificate";
    case SSL_R_HTTP_REQUEST:
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_BAD_RECORD_TYPE:
      return std::string("the other side does not speak TLS") +
             (client ? "; is the port right, and does the server run without " +
                           OptionName("insecure") + "?"
                     : "");
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      return "the two sides have no TLS version or cipher in common; TLS must be 1.2 or later";
    default:
      return std::string("TLS failed; is the other side a polykern ") +
             (client ? "server" : "agent") + ", with no proxy in between? (error " +
             std::to_string(reason) + " of OpenSSL)";
  }
}

std::string WhyNotTrusted(long verdict, Side side, const std::string& host) {
  const bool client = side == Side::kClient;
  const std::string whose = client ? "the server's certificate" : "the client's certificate";
  switch (verdict) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return whose + " is not for " + host +
             "; connect to a name that it is for, or make one for this name: polykern pki init " +
             ShellSpelling("renew") + " " + ShellSpelling("server", host);
    case X509_V_ERR_INVALID_PURPOSE:
      return whose + " is made for another role";
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
    case X509_V_ERR_CERT_REVOKED:
      return whose + " " + VerdictWords(static_cast<int>(verdict));
    default:
      return whose + " " + VerdictWords(static_cast<int>(verdict)) +
             (client ? "; is it the right server, and is ca.crt of its authority?" : "");
  }
}

}  // namespace polykern
