// What goes through a TlsSocket once it is there, and what comes of a peer that speaks nonsense.
#include <array>
#include <ctime>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "polykern/core/random.h"
#include "polykern/net/transport/tls.h"

namespace polykern {
namespace {

using State = TlsSocket::State;
using testing::HasSubstr;
using testing::StartsWith;

/// Both ends of a connection, in one thread.
class TlsEnds {
 public:
  TlsEnds(const TlsContext& listener, const TlsContext& caller) {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, descriptors.data()), 0);
    server.emplace(listener, descriptors[0], Side::kServer, "");
    client.emplace(caller, descriptors[1], Side::kClient, "localhost");
  }
  ~TlsEnds() {
    close(descriptors[0]);
    close(descriptors[1]);
  }

  /// As far as both get.
  bool Meet() {
    State one = State::kNeedsRead;
    State other = State::kNeedsRead;
    for (int turn = 0; turn < 10 && (one != State::kDone || other != State::kDone); ++turn) {
      if (other != State::kDone) other = client->Handshake().state;
      if (one != State::kDone) one = server->Handshake().state;
    }
    return one == State::kDone && other == State::kDone;
  }
  /// What a raw peer says in the client's place.
  void Say(const std::string& bytes) {
    EXPECT_EQ(write(descriptors[1], bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }
  void HangUp() { shutdown(descriptors[1], SHUT_WR); }

  std::array<int, 2> descriptors{};
  std::optional<TlsSocket> server;
  std::optional<TlsSocket> client;
};

/// All that can be read now, and why no more can.
std::pair<std::string, State> ReadAllOf(TlsSocket& socket, std::size_t at_once = 1000) {
  std::string bytes;
  std::string part(at_once, '\0');
  for (;;) {
    const auto [state, count] = socket.Read(part.data(), part.size());
    if (state != State::kDone) return {bytes, state};
    bytes += part.substr(0, count);
  }
}

class ATlsStream : public testing::Test {
 protected:
  ATlsStream() {
    const std::vector<std::string> hosts = {"localhost"};
    const std::string key = MakeKey();
    server_certificate = MakeServerCertificate(authority, key, hosts, valid);
    listener = MakeServerTls({server_certificate, key}, authority.certificate);
    caller = CallerUntil(valid.until);
  }
  TlsContext CallerUntil(std::int64_t end) {
    const std::string key = MakeKey();
    client_certificate = MakeClientCertificate(authority, key, "mill", {valid.from, end});
    return MakeClientTls(
        {.authority = authority.certificate, .certificate = client_certificate, .key = key});
  }

  const Validity valid{std::time(nullptr) - 100, std::time(nullptr) + 1000};
  const KeyPair authority = MakeAuthority(valid);
  std::string server_certificate;
  std::string client_certificate;
  TlsContext listener;
  TlsContext caller;
};

TEST_F(ATlsStream, CarriesBytesBothWaysInWhateverPieces) {
  Random random(5, Purpose::kTest);
  for (const bool encrypted : {true, false}) {
    TlsEnds ends(encrypted ? listener : nullptr, encrypted ? caller : nullptr);
    ASSERT_TRUE(ends.Meet());
    for (int n = 0; n < 40; ++n) {
      TlsSocket& from = n % 2 == 0 ? *ends.client : *ends.server;
      TlsSocket& to = n % 2 == 0 ? *ends.server : *ends.client;
      std::string bytes(1 + random.Below(n % 8 == 0 ? 50'000 : 500), '\0');
      for (char& c : bytes) c = static_cast<char>(random.Below(256));
      std::string got;
      std::size_t sent = 0;
      while (got.size() < bytes.size()) {
        if (sent < bytes.size()) {
          const auto [state, count] = from.Write(bytes.data() + sent, bytes.size() - sent);
          ASSERT_TRUE(state == State::kDone || state == State::kNeedsWrite);
          sent += state == State::kDone ? count : 0;
        }
        got += ReadAllOf(to, 1 + random.Below(20'000)).first;
      }
      EXPECT_EQ(got, bytes);
    }
  }
}

TEST_F(ATlsStream, WaitsForRoomAndGoesOnWhereItWas) {
  TlsEnds ends(listener, caller);
  ASSERT_TRUE(ends.Meet());
  const std::string record(16'000, 'x');
  std::size_t sent = 0;
  TlsSocket::Result result{};
  while (result.state == State::kDone) {
    result = ends.client->Write(record.data(), record.size());
    sent += result.state == State::kDone ? result.bytes : 0;
  }
  EXPECT_EQ(result.state, State::kNeedsWrite);
  EXPECT_EQ(ends.client->error(), "");
  std::string got = ReadAllOf(*ends.server).first;
  result = ends.client->Write(record.data(), record.size());  // the same bytes
  EXPECT_EQ(result.state, State::kDone);
  got += ReadAllOf(*ends.server).first;
  EXPECT_EQ(got, std::string(sent + result.bytes, 'x'));
}

TEST_F(ATlsStream, ShowsEachSideTheOthersCertificate) {
  TlsEnds ends(listener, caller);
  EXPECT_EQ(ends.server->PeerCertificate(), "") << "nothing has come yet";
  EXPECT_EQ(ends.server->Peer(), nullptr);
  ASSERT_TRUE(ends.Meet());
  EXPECT_EQ(ends.server->PeerCertificate(), client_certificate);
  EXPECT_EQ(ends.client->PeerCertificate(), server_certificate);
  EXPECT_NE(ends.server->Peer(), nullptr);
  TlsEnds plain(nullptr, nullptr);
  ASSERT_TRUE(plain.Meet());
  EXPECT_EQ(plain.server->PeerCertificate(), "");
}

TEST_F(ATlsStream, NoticesAFarewellAfterAllThatWasSaid) {
  TlsEnds ends(listener, caller);
  ASSERT_TRUE(ends.Meet());
  ends.client->Write("last words", 10);
  ends.client->SayGoodbye();
  const auto [bytes, state] = ReadAllOf(*ends.server);
  EXPECT_EQ(bytes, "last words");
  EXPECT_EQ(state, State::kClosed);
}

TEST_F(ATlsStream, TellsACutFromAFarewell) {
  TlsEnds ends(listener, caller);
  ASSERT_TRUE(ends.Meet());
  ends.HangUp();
  EXPECT_EQ(ReadAllOf(*ends.server).second, State::kFailed);
  EXPECT_EQ(ends.server->error(), "the connection was cut");
}

TEST_F(ATlsStream, RefusesARecordThatWasChangedOnItsWay) {
  Random random(6, Purpose::kTest);
  for (int n = 0; n < 20; ++n) {
    TlsEnds ends(listener, caller);
    ASSERT_TRUE(ends.Meet());
    ends.client->Write("a secret number: 17", 19);
    std::string record(1000, '\0');
    const long size = read(ends.descriptors[0], record.data(), record.size());
    ASSERT_GT(size, 19);
    record.resize(static_cast<std::size_t>(size));
    const std::size_t header = 5;
    record[header + random.Below(record.size() - header)] ^=
        static_cast<char>(1 + random.Below(255));
    ends.Say(record);
    const auto [bytes, state] = ReadAllOf(*ends.server);
    EXPECT_EQ(bytes, "");
    EXPECT_EQ(state, State::kFailed);
    EXPECT_THAT(ends.server->error(), StartsWith("TLS failed; is the other side "));
  }
}

TEST_F(ATlsStream, SaysThatAPeerSpeaksSomethingElse) {
  for (const std::string words :
       {"GET /polykern HTTP/1.1\r\nHost: h\r\n\r\n", "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"}) {
    TlsEnds ends(listener, nullptr);
    ends.Say(words);
    EXPECT_EQ(ends.server->Handshake().state, State::kFailed);
    EXPECT_EQ(ends.server->error(), "the other side does not speak TLS") << words;
  }
}

TEST_F(ATlsStream, FailsWithWordsForGarbageAndNeverForLess) {
  Random random(7, Purpose::kTest);
  for (int n = 0; n < 200; ++n) {
    TlsEnds ends(listener, nullptr);
    std::string garbage(1 + random.Below(600), '\0');
    for (char& c : garbage) c = static_cast<char>(random.Below(256));
    if (n % 2 == 0) garbage.replace(0, 3, "\x16\x03\x01");  // as TLS begins
    ends.Say(garbage);
    ends.HangUp();
    State state = State::kNeedsRead;
    for (int turn = 0; turn < 5 && state == State::kNeedsRead; ++turn) {
      state = ends.server->Handshake().state;
    }
    EXPECT_TRUE(state == State::kFailed || state == State::kClosed);
    EXPECT_EQ(state == State::kFailed, !ends.server->error().empty());
    EXPECT_EQ(ends.server->error().find('\n'), std::string::npos);
    EXPECT_EQ(ends.server->PeerCertificate(), "");
  }
}

TEST_F(ATlsStream, EndsWhereverItsHandshakeIsCut) {
  std::string hello(2000, '\0');
  {
    TlsEnds ends(listener, caller);
    ends.client->Handshake();
    const long size = read(ends.descriptors[0], hello.data(), hello.size());
    ASSERT_GT(size, 100);
    hello.resize(static_cast<std::size_t>(size));
  }
  for (std::size_t cut = 0; cut < hello.size(); cut += 17) {
    TlsEnds ends(listener, nullptr);
    ends.Say(hello.substr(0, cut));
    EXPECT_EQ(ends.server->Handshake().state, State::kNeedsRead) << cut;
    ends.HangUp();
    EXPECT_EQ(ends.server->Handshake().state, State::kFailed) << cut;
    EXPECT_EQ(ends.server->error(), "the connection was cut") << cut;
  }
}

TEST_F(ATlsStream, SaysThatAClientsCertificateHasExpired) {
  TlsEnds ends(listener, CallerUntil(std::time(nullptr) - 10));
  EXPECT_FALSE(ends.Meet());
  EXPECT_EQ(ends.server->error(), "the client's certificate has expired");
  const auto [bytes, state] = ReadAllOf(*ends.client);
  EXPECT_EQ(state, State::kFailed);
  EXPECT_THAT(ends.client->error(),
              HasSubstr("does not accept this agent's certificate: it has expired"));
}

TEST_F(ATlsStream, KnowsAPeerOfAnOldVersionByItsHttp2) {
  TlsEnds now(listener, caller);
  ASSERT_TRUE(now.Meet());
  EXPECT_FALSE(now.server->WantsHttp2());
  constexpr unsigned char kHttp2Alone[] = {2, 'h', '2'};
  ASSERT_EQ(SSL_CTX_set_alpn_protos(caller.get(), kHttp2Alone, sizeof kHttp2Alone), 0);
  TlsEnds old(listener, caller);
  ASSERT_TRUE(old.Meet());
  EXPECT_TRUE(old.server->WantsHttp2());
}

}  // namespace
}  // namespace polykern
