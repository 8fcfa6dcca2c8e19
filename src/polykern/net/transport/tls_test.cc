#include "polykern/net/transport/tls.h"

#include <array>
#include <ctime>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

namespace polykern {
namespace {

using State = TlsSocket::State;
using testing::HasSubstr;

constexpr std::array kRoles = {Role::kClient, Role::kServer, Role::kHelper};

/// How a handshake ended at both ends.
struct Meeting {
  State listener, caller;
  std::string listener_error, caller_error;

  bool good() const { return listener == State::kDone && caller == State::kDone; }
};

/// In one thread, each as far as it gets. In TLS 1.3 a caller is done before its certificate is
/// judged, so it is the listener who has the last word.
Meeting Meet(const TlsContext& listener, const TlsContext& caller) {
  std::array<int, 2> ends{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
  TlsSocket one(listener, ends[0], Side::kServer, {});
  TlsSocket other(caller, ends[1], Side::kClient, "localhost");
  const auto waits = [](State s) { return s == State::kNeedsRead || s == State::kNeedsWrite; };
  Meeting meeting{State::kNeedsRead, State::kNeedsRead, {}, {}};
  for (int turn = 0; turn < 10; ++turn) {
    if (waits(meeting.caller)) meeting.caller = other.Handshake().state;
    if (waits(meeting.listener)) meeting.listener = one.Handshake().state;
  }
  meeting.listener_error = one.error();
  meeting.caller_error = other.error();
  close(ends[0]);
  close(ends[1]);
  return meeting;
}

class TlsOf : public testing::Test {
 protected:
  ClientIdentity End(Role role) const {
    const std::string key = MakeKey();
    const std::vector<std::string> hosts = {"localhost"};
    const std::string certificate =
        role == Role::kClient   ? MakeClientCertificate(authority, key, "localhost", valid)
        : role == Role::kServer ? MakeServerCertificate(authority, key, hosts, valid)
                                : MakeHelperCertificate(authority, key, "helper", hosts, valid);
    return {.authority = authority.certificate, .certificate = certificate, .key = key};
  }
  TlsContext Listener(Role own, Role peers) const {
    const ClientIdentity end = End(own);
    return MakeServerTls({end.certificate, end.key}, end.authority, peers);
  }

  const Validity valid{std::time(nullptr) - 100, std::time(nullptr) + 1000};
  const KeyPair authority = MakeAuthority(valid);
};

TEST_F(TlsOf, EveryRoleMeetsTheRoleThatItAwaitsAndNoOther) {
  for (const Role listener : kRoles) {
    for (const Role caller : kRoles) {
      for (const Role awaited_by_listener : kRoles) {
        for (const Role awaited_by_caller : kRoles) {
          const Meeting meeting = Meet(Listener(listener, awaited_by_listener),
                                       MakeClientTls(End(caller), awaited_by_caller));
          EXPECT_EQ(meeting.good(), awaited_by_listener == caller && awaited_by_caller == listener)
              << static_cast<int>(listener) << static_cast<int>(caller)
              << static_cast<int>(awaited_by_listener) << static_cast<int>(awaited_by_caller);
        }
      }
    }
  }
}

TEST_F(TlsOf, AnAgentMeetsServersAndOfAServerClientsUnlessToldOtherwise) {
  const auto listener = [&](Role role) {
    const ClientIdentity end = End(role);
    return MakeServerTls({end.certificate, end.key}, end.authority);
  };
  EXPECT_TRUE(Meet(listener(Role::kServer), MakeClientTls(End(Role::kClient))).good());
  EXPECT_EQ(Meet(listener(Role::kHelper), MakeClientTls(End(Role::kClient))).caller_error,
            "the server's certificate is made for another role");
  EXPECT_EQ(Meet(listener(Role::kServer), MakeClientTls(End(Role::kHelper))).listener_error,
            "the client's certificate is made for another role");
}

TEST_F(TlsOf, AHelperHasAHostsNameThatIsChecked) {
  const std::string key = MakeKey();
  const std::vector<std::string> hosts = {"elsewhere.example.org"};
  const std::string certificate = MakeHelperCertificate(authority, key, "helper", hosts, valid);
  const TlsContext helper = MakeServerTls({certificate, key}, authority.certificate, Role::kServer);
  EXPECT_THAT(
      Meet(helper, MakeClientTls(End(Role::kServer), Role::kHelper)).caller_error,
      HasSubstr(
          "is not for localhost; connect to a name that it is for, or make one for this name: "));
}

TEST_F(TlsOf, AnotherAuthorityIsRefusedInEveryRole) {
  const KeyPair stranger = MakeAuthority(valid);
  const std::string key = MakeKey();
  const std::vector<std::string> hosts = {"localhost"};
  const std::string forged = MakeHelperCertificate(stranger, key, "helper", hosts, valid);
  const TlsContext helper = MakeServerTls({forged, key}, authority.certificate, Role::kServer);
  EXPECT_FALSE(Meet(helper, MakeClientTls(End(Role::kServer), Role::kHelper)).good());
}

}  // namespace
}  // namespace polykern
