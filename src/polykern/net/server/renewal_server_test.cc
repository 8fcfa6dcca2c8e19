#include "polykern/net/server/renewal_server.h"

#include <ctime>
#include <filesystem>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/io/files.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/agent/renewal.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/pki/client_identity.h"

namespace polykern {
namespace {

using testing::HasSubstr;

class ARenewalServer : public testing::Test {
 protected:
  ARenewalServer() {
    InitAuthority(pki, {.hosts = {"127.0.0.1"}});
    IssueClient(pki, "a", {.valid = 60});
    options.listen = "127.0.0.1:0";
    options.authority = pki;
    options.hosts = {"127.0.0.1"};
  }
  void Start() {
    server.emplace(options, [this](const std::string& client, const std::string& event,
                                   const std::string& detail) {
      const std::lock_guard lock(mutex);
      told.push_back(client + " " + event + " " + detail);
    });
  }
  std::string Folder(const std::string& name) const { return AuthorityPaths(pki).Client(name); }
  CertificateFacts Shown(const std::string& name) const {
    return ReadCertificate(ReadWholeFile(Folder(name) + "/client.crt"), name);
  }

  TestFolder folder;
  const std::string pki = folder.At("pki");
  const std::int64_t now = std::time(nullptr);
  RenewalServerOptions options;
  std::mutex mutex;
  std::vector<std::string> told;
  std::optional<RenewalServer> server;
};

TEST_F(ARenewalServer, GivesAnotherCertificateForTheSameNameAndKey) {
  options.valid = 1000;
  Start();
  const CertificateFacts before = Shown("a");
  const std::string key = ReadWholeFile(Folder("a") + "/client.key");
  const std::int64_t until = RenewCertificate(server->address(), Folder("a"));
  EXPECT_NEAR(static_cast<double>(until), static_cast<double>(now + 1000), 30);
  const CertificateFacts after = Shown("a");
  EXPECT_EQ(after.name, "a");
  EXPECT_NE(after.serial, before.serial);
  EXPECT_EQ(after.valid.until, until);
  EXPECT_EQ(ReadWholeFile(Folder("a") + "/client.key"), key);
  EXPECT_NO_THROW(ReadClientIdentity(Folder("a"), now));
  EXPECT_EQ(ReadAuthority(pki).clients.back().serial, after.serial) << "it can be revoked";
  EXPECT_EQ(server->renewed(), 1U);
}

TEST_F(ARenewalServer, RefusesWhoIsRevokedAndSaysSo) {
  Start();
  RevokeClient(pki, "a");
  const CertificateFacts before = Shown("a");
  EXPECT_THAT(MessageOf([&] { RenewCertificate(server->address(), Folder("a")); }),
              HasSubstr("revoked"));
  EXPECT_EQ(Shown("a").serial, before.serial);
  EXPECT_EQ(server->renewed(), 0U);
  const std::lock_guard lock(mutex);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0], HasSubstr("refused"));
}

TEST_F(ARenewalServer, RefusesClientsOfAnotherAuthorityAndCertificatesItDidNotIssue) {
  Start();
  const std::string other = folder.At("other");
  InitAuthority(other, {.hosts = {"127.0.0.1"}});
  IssueClient(other, "b", {});
  EXPECT_THROW(RenewCertificate(server->address(), AuthorityPaths(other).Client("b")), Error);
  const ClientIdentity unknown = MakeClientIdentities(pki, "c", 1, now)[0];
  EXPECT_THAT(MessageOf([&] { RenewClient(pki, unknown.certificate, 100, now); }),
              HasSubstr("not in the authority's index"));
}

TEST_F(ARenewalServer, KeepsTheIndexShort) {
  std::string certificate = ReadWholeFile(Folder("a") + "/client.crt");
  for (int n = 1; n <= 50; ++n) certificate = RenewClient(pki, certificate, 60, now + 40 * n);
  EXPECT_LE(ReadAuthority(pki).clients.size(), 3U) << "what has expired cannot come in";
}

TEST_F(ARenewalServer, IsAskedByAnAgentWhenItIsTime) {
  EXPECT_EQ(RenewalTime(1000, 1300), 1200);
  options.valid = 6;
  Start();
  IssueClient(pki, "b", {.valid = 3});
  std::binary_semaphore renewed{0};
  const CertificateRenewal renewal(server->address(), Folder("b"),
                                   [&](const std::string&) { renewed.release(); });
  ASSERT_TRUE(renewed.try_acquire_for(std::chrono::seconds(30)));
  EXPECT_GT(Shown("b").valid.until, now + 4);
}

TEST(ARenewal, SaysWhatIsWrongAndEndsAtOnce) {
  const TestFolder folder;
  const std::string pki = folder.At("pki");
  InitAuthority(pki, {.hosts = {"127.0.0.1"}});
  IssueClient(pki, "a", {.valid = 1});
  std::binary_semaphore told{0};
  std::string line;
  const CertificateRenewal renewal("127.0.0.1:1", AuthorityPaths(pki).Client("a"),
                                   [&](const std::string& text) {
                                     line = text;
                                     told.release();
                                   });
  ASSERT_TRUE(told.try_acquire_for(std::chrono::seconds(30)));
  EXPECT_THAT(line, HasSubstr("certificate not renewed: "));
}

}  // namespace
}  // namespace polykern
