#include "polykern/net/pki/certificates.h"

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "polykern/io/folder_testing.h"
#include "polykern/net/pki/openssl_internal.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::SizeIs;

class Certificates : public testing::Test {
 protected:
  std::string Client(const std::string& name) const {
    return MakeClientCertificate(authority, key, name, valid);
  }
  std::string Server(const std::vector<std::string>& hosts) const {
    return MakeServerCertificate(authority, key, hosts, valid);
  }
  std::string Helper(const std::vector<std::string>& hosts) const {
    return MakeHelperCertificate(authority, key, "auditor", hosts, valid);
  }
  /// Does OpenSSL take it for this purpose, as signed by this authority?
  static bool IsGoodFor(const std::string& certificate, const KeyPair& signer, int purpose) {
    const CertificatePtr root = ParseCertificate(signer.certificate);
    const CertificatePtr peer = ParseCertificate(certificate);
    const OpenSslPtr<X509_STORE, X509_STORE_free> trust(X509_STORE_new());
    X509_STORE_add_cert(trust.get(), root.get());
    X509_STORE_set_flags(trust.get(), X509_V_FLAG_X509_STRICT);
    X509_STORE_set_purpose(trust.get(), purpose);
    X509_VERIFY_PARAM_set_time(X509_STORE_get0_param(trust.get()), 1'900'000'000);
    const OpenSslPtr<X509_STORE_CTX, X509_STORE_CTX_free> context(X509_STORE_CTX_new());
    X509_STORE_CTX_init(context.get(), trust.get(), peer.get(), nullptr);
    return X509_verify_cert(context.get()) == 1;
  }

  const Validity valid{1'899'999'000, 1'900'086'400};
  const KeyPair authority = MakeAuthority(valid);
  const std::string key = MakeKey();
};

TEST_F(Certificates, HoldWhatTheyWereMadeWith) {
  const CertificateFacts client = ReadCertificate(Client("station-7"), "it");
  EXPECT_EQ(client.name, "station-7");
  EXPECT_EQ(client.valid.from, valid.from);
  EXPECT_EQ(client.valid.until, valid.until);
  EXPECT_THAT(client.serial, MatchesRegex("[0-9A-F]{2,32}"));
  EXPECT_THAT(client.hosts, ElementsAre("station-7"));
  const CertificateFacts server =
      ReadCertificate(Server({"learn.example.org", "192.0.2.7", "2001:db8::1"}), "it");
  EXPECT_EQ(server.name, "polykern server");
  EXPECT_THAT(server.hosts, ElementsAre("learn.example.org", "192.0.2.7", "2001:db8::1"));
}

TEST_F(Certificates, HaveSerialNumbersOfTheirOwn) {
  std::set<std::string> serials;
  for (int k = 0; k < 20; ++k) serials.insert(ReadCertificate(Client("a"), "it").serial);
  EXPECT_THAT(serials, SizeIs(20));
}

TEST_F(Certificates, AreGoodForOneEndOfAConnection) {
  EXPECT_TRUE(IsGoodFor(Client("a"), authority, X509_PURPOSE_SSL_CLIENT));
  EXPECT_FALSE(IsGoodFor(Client("a"), authority, X509_PURPOSE_SSL_SERVER));
  EXPECT_TRUE(IsGoodFor(Server({"localhost"}), authority, X509_PURPOSE_SSL_SERVER));
  EXPECT_FALSE(IsGoodFor(Server({"localhost"}), authority, X509_PURPOSE_SSL_CLIENT));
}

TEST_F(Certificates, OfHelpersAreGoodForNeitherEnd) {
  const std::string helper = Helper({"localhost", "192.0.2.7"});
  EXPECT_TRUE(IsGoodFor(helper, authority, X509_PURPOSE_ANY));
  EXPECT_FALSE(IsGoodFor(helper, authority, X509_PURPOSE_SSL_CLIENT));
  EXPECT_FALSE(IsGoodFor(helper, authority, X509_PURPOSE_SSL_SERVER));
  EXPECT_EQ(ReadCertificate(helper, "it").name, "auditor");
  EXPECT_THAT(ReadCertificate(helper, "it").hosts, ElementsAre("localhost", "192.0.2.7"));
  EXPECT_THROW(Helper({"a b"}), Error);
}

TEST_F(Certificates, HaveOneRole) {
  const std::vector<std::pair<Role, std::string>> all = {{Role::kClient, Client("a")},
                                                         {Role::kServer, Server({"localhost"})},
                                                         {Role::kHelper, Helper({"localhost"})}};
  for (const auto& [role, certificate] : all) {
    for (const auto& [other, unused] : all) {
      EXPECT_EQ(HasRole(ParseCertificate(certificate).get(), other), role == other);
    }
    EXPECT_FALSE(HasRole(ParseCertificate(authority.certificate).get(), role));
  }
}

TEST_F(Certificates, AreGoodUnderTheAuthorityThatSignedThem) {
  EXPECT_FALSE(IsGoodFor(Client("a"), MakeAuthority(valid), X509_PURPOSE_SSL_CLIENT));
  // What a client signs is worth nothing.
  const KeyPair client{Client("a"), key};
  const std::string forged = MakeClientCertificate(client, MakeKey(), "b", valid);
  EXPECT_FALSE(IsGoodFor(forged, authority, X509_PURPOSE_SSL_CLIENT));
  EXPECT_FALSE(IsGoodFor(forged, client, X509_PURPOSE_SSL_CLIENT));
}

TEST_F(Certificates, OfTwoAuthoritiesHaveDifferentNames) {
  const std::string name = ReadCertificate(authority.certificate, "it").name;
  EXPECT_THAT(name, MatchesRegex("polykern authority [0-9A-F]+"));
  EXPECT_NE(ReadCertificate(MakeAuthority(valid).certificate, "it").name, name);
}

TEST_F(Certificates, BelongToTheirKeys) {
  CheckKeyPair({Client("a"), key}, "it", "its key");
  CheckKeyPair(authority, "it", "its key");
  EXPECT_EQ(MessageOf([&] {
              CheckKeyPair({Client("a"), MakeKey()}, "a.crt", "a.key");
            }),
            "a.key: the key does not belong to the certificate, a.crt; copy both again from the "
            "folder that polykern pki made");
  EXPECT_EQ(MessageOf([&] {
              CheckKeyPair({Client("a"), "nonsense"}, "a.crt", "a.key");
            }),
            "a.key: contains no readable private key; restore a copy of it, or make it again with "
            "polykern pki");
}

TEST_F(Certificates, ThatAreNoneAreRefused) {
  const std::string good = Client("a");
  for (const std::string& bad : {std::string(), std::string("nonsense"), key,
                                 std::string(100, '\0'), good.substr(0, good.size() / 2)}) {
    EXPECT_EQ(
        MessageOf([&] { ReadCertificate(bad, "a.crt"); }),
        "a.crt: contains no readable certificate; restore a copy of it, or make it again with "
        "polykern pki");
  }
}

TEST_F(Certificates, WithAPassphraseOnTheirKeyAreRefusedWithoutAsking) {
  const std::string locked =
      "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
      "MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAg=\n"
      "-----END ENCRYPTED PRIVATE KEY-----\n";
  EXPECT_THROW(CheckKeyPair({Client("a"), locked}, "a.crt", "a.key"), Error);
}

TEST_F(Certificates, OfServersNameHosts) {
  for (const char* host : {"localhost", "a_b.example", "192.0.2.7", "::1", "7"}) CheckHost(host);
  CheckHost(std::string(253, 'a'));
  for (const std::string& host :
       {std::string(), std::string("a b"), std::string("a:80"), std::string("-a"),
        std::string(".a"), std::string("a,DNS:b"), std::string(254, 'a')}) {
    EXPECT_THAT(MessageOf([&] { CheckHost(host); }), HasSubstr("neither a host's name nor an IP"));
    EXPECT_THROW(Server({host}), Error);
  }
}

TEST(ClientNames, CanNameAFolder) {
  for (const char* name : {"a", "7", "_", "station-7.north_2", "A"})
    EXPECT_TRUE(IsClientName(name));
  EXPECT_TRUE(IsClientName(std::string(64, 'a')));
  for (const char* name : {"", ".", "..", ".a", "-a", "a/b", "a b", "\xc3\xa4", "a\n", "a,b"}) {
    EXPECT_FALSE(IsClientName(name)) << name;
  }
  EXPECT_FALSE(IsClientName(std::string(65, 'a')));
  EXPECT_FALSE(IsClientName(std::string_view("a\0b", 3)));
}

TEST_F(Certificates, ThatAreRevokedAreOnASignedList) {
  const std::string serial = ReadCertificate(Client("a"), "it").serial;
  const RevocationList list{{{serial, 1'900'000'001}, {"0A", 1'900'000'002}}, 12};
  const std::string pem = MakeRevocationList(authority, list, 1'900'000'003);
  const RevocationList back = ReadRevocationList(pem, authority.certificate, "ca.crl");
  EXPECT_EQ(back.number, 12);
  ASSERT_THAT(back.revoked, SizeIs(2));
  std::set<std::pair<std::string, std::int64_t>> entries;
  for (const Revocation& entry : back.revoked) entries.emplace(entry.serial, entry.when);
  EXPECT_TRUE(entries.contains({serial, 1'900'000'001}));
  EXPECT_TRUE(entries.contains({"0A", 1'900'000'002}));
  EXPECT_THAT(ReadRevocationList(MakeRevocationList(authority, {}, 1'900'000'000),
                                 authority.certificate, "ca.crl")
                  .revoked,
              IsEmpty());
}

TEST_F(Certificates, AreRevokedByTheirAuthorityAlone) {
  const std::string pem = MakeRevocationList(MakeAuthority(valid), {}, 1'900'000'000);
  EXPECT_EQ(MessageOf([&] { ReadRevocationList(pem, authority.certificate, "ca.crl"); }),
            "ca.crl: the revocation list is not signed by this authority; restore a copy of it, or "
            "make it again with polykern pki");
  EXPECT_EQ(MessageOf([&] { ReadRevocationList("nonsense", authority.certificate, "ca.crl"); }),
            "ca.crl: contains no readable revocation list; restore a copy of it, or make it again "
            "with polykern pki");
  EXPECT_EQ(MessageOf([&] {
              MakeRevocationList(authority, {{{"no number", 0}}, 1}, 0);
            }),
            "'no number' is not a serial number");
}

}  // namespace
}  // namespace polykern
