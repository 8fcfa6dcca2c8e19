#include "polykern/net/transport/failure_words.h"

#include <cerrno>
#include <string>
#include <vector>

#include <boost/asio/error.hpp>
#include <gmock/gmock.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(WordsOfFailures, SayWhatToDoAboutAConnection) {
  namespace asio = boost::asio::error;
  EXPECT_THAT(WhyNotConnected(asio::host_not_found), HasSubstr("check it, and"));
  EXPECT_THAT(WhyNotConnected(asio::connection_refused), HasSubstr("is the port right?"));
  EXPECT_THAT(WhyNotConnected(asio::timed_out), HasSubstr("firewall"));
  EXPECT_THAT(WhyNotConnected(asio::network_unreachable), HasSubstr("this machine's network"));
  EXPECT_THAT(WhyNotConnected(asio::no_descriptors), HasSubstr("ulimit -n"));
  EXPECT_EQ(WhyCut(ECONNRESET), "the connection was cut");
  EXPECT_EQ(WhyCut(EHOSTUNREACH), "the network in between is down");
}

TEST(WordsOfFailures, SayWhatIsWrongAndWhatToDoOnOneLine) {
  namespace asio = boost::asio::error;
  const boost::system::error_code known[] = {asio::host_not_found,   asio::connection_refused,
                                             asio::timed_out,        asio::network_unreachable,
                                             asio::host_unreachable, asio::no_descriptors};
  for (const boost::system::error_code& error : known) {
    const std::string said = WhyNotConnected(error);
    EXPECT_THAT(said, HasSubstr("; ")) << error.message();
    EXPECT_FALSE(said.ends_with('.')) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
  constexpr int kUnknown = 1199;
  EXPECT_THAT(WhyCut(kUnknown), HasSubstr("; check this machine's network (error 1199 of the"));
  for (const Side side : {Side::kClient, Side::kServer}) {
    EXPECT_THAT(WhyTlsFailed(ERR_PACK(ERR_LIB_SSL, 0, kUnknown), side),
                HasSubstr("; is the other side a polykern "));
  }
}

TEST(WordsOfFailures, AreNeverALibrarysOwn) {
  for (int code = 0; code < 200; ++code) {
    const boost::system::error_code error(code, boost::system::system_category());
    const std::string said = WhyNotConnected(error);
    EXPECT_FALSE(said.empty());
    EXPECT_EQ(said.find(error.message()), std::string::npos) << said;
    const std::string verdict = WhyNotTrusted(code, Side::kClient, "host");
    EXPECT_THAT(verdict, StartsWith("the server's certificate "));
    if (code == X509_V_ERR_CERT_HAS_EXPIRED) continue;  // in which there is no other way to put it
    EXPECT_EQ(verdict.find(X509_verify_cert_error_string(code)), std::string::npos) << verdict;
  }
  for (int reason = 1; reason < 1200; ++reason) {
    const unsigned long error = ERR_PACK(ERR_LIB_SSL, 0, reason);
    const char* const theirs = ERR_reason_error_string(error);
    for (const Side side : {Side::kClient, Side::kServer}) {
      const std::string said = WhyTlsFailed(error, side);
      EXPECT_FALSE(said.empty());
      EXPECT_TRUE(theirs == nullptr || said.find(theirs) == std::string::npos) << said;
    }
  }
}

TEST(WordsOfFailures, TellWhoseCertificateItIs) {
  const unsigned long alert = ERR_PACK(ERR_LIB_SSL, 0, SSL_R_TLSV1_ALERT_UNKNOWN_CA);
  EXPECT_THAT(
      WhyTlsFailed(alert, Side::kClient),
      StartsWith("the server does not accept this agent's certificate: it is from another"));
  EXPECT_THAT(
      WhyTlsFailed(alert, Side::kServer),
      StartsWith("the client does not accept the server's certificate: it is from another"));
  EXPECT_THAT(WhyNotTrusted(X509_V_ERR_HOSTNAME_MISMATCH, Side::kClient, "a.example"),
              StartsWith("the server's certificate is not for a.example; "));
  EXPECT_EQ(WhyNotTrusted(X509_V_ERR_CERT_HAS_EXPIRED, Side::kServer, ""),
            "the client's certificate has expired");
}

}  // namespace
}  // namespace polykern
