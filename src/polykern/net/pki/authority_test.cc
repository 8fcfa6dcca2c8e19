#include "polykern/net/pki/authority.h"

#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "polykern/io/files.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/pki/mask_key_file.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr std::int64_t kNow = 1'900'000'000;
constexpr std::int64_t kDay = 86400;

unsigned ModeOf(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_mode & 0777U : 0;
}

class AuthorityFolder : public testing::Test {
 protected:
  void Init() { InitAuthority(pki, {.hosts = {"localhost", "::1"}, .now = kNow}); }
  IssuedCertificate Issue(const std::string& name, bool renew = false) {
    return IssueClient(pki, name, {.renew = renew, .now = kNow});
  }
  static std::vector<std::string> FilesIn(const std::string& path) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  TestFolder folder;
  const std::string pki = folder.At("pki");
  const AuthorityPaths paths{pki};
};

TEST_F(AuthorityFolder, HoldsKeysThatOnlyTheirOwnerReads) {
  const mode_t before = umask(0);  // hides nothing
  Init();
  Issue("a");
  umask(before);
  EXPECT_EQ(ModeOf(pki), 0700U);
  EXPECT_EQ(ModeOf(paths.key), 0600U);
  EXPECT_EQ(ModeOf(paths.server_key), 0600U);
  EXPECT_EQ(ModeOf(paths.certificate), 0644U);
  EXPECT_EQ(ModeOf(paths.clients + "/a"), 0700U);
  EXPECT_EQ(ModeOf(paths.clients + "/a/client.key"), 0600U);
  EXPECT_EQ(ModeOf(paths.clients + "/a/mask.key"), 0600U);
  EXPECT_THAT(FilesIn(pki), UnorderedElementsAre("ca.crt", "ca.key", "ca.crl", "server.crt",
                                                 "server.key", "index.json", "clients"));
  EXPECT_THAT(FilesIn(paths.clients + "/a"),
              UnorderedElementsAre("ca.crt", "client.crt", "client.key", "mask.key"));
}

TEST_F(AuthorityFolder, GetsItsModesUnderAUmaskThatHidesEverything) {
  const mode_t before = umask(0777);
  Init();
  umask(before);
  EXPECT_EQ(ModeOf(pki), 0700U);
  EXPECT_EQ(ModeOf(paths.key), 0600U);
  EXPECT_EQ(ModeOf(paths.certificate), 0644U);
}

TEST_F(AuthorityFolder, IsNeverReplaced) {
  Init();
  const std::string key = ReadWholeFile(paths.key);
  EXPECT_THAT(MessageOf([&] { Init(); }), HasSubstr("an authority already exists here"));
  Issue("a");
  fs::remove(paths.certificate);  // lost; but a client has been issued
  EXPECT_THAT(MessageOf([&] { Init(); }), HasSubstr("an authority already exists here"));
  EXPECT_EQ(ReadWholeFile(paths.key), key);
}

TEST_F(AuthorityFolder, IsMadeAgainAfterAnInitThatWasKilled) {
  Init();
  fs::remove(paths.certificate);  // what is written last
  Init();
  EXPECT_EQ(Issue("a").name, "a");
}

TEST_F(AuthorityFolder, RenewsTheServerAndKeepsItsKey) {
  Init();
  const std::string authority = ReadWholeFile(paths.certificate);
  const std::string key = ReadWholeFile(paths.server_key);
  const CertificateFacts renewed =
      InitAuthority(pki, {.hosts = {"new.example.org"}, .renew = true, .now = kNow});
  EXPECT_THAT(renewed.hosts, ElementsAre("new.example.org"));
  EXPECT_EQ(ReadWholeFile(paths.certificate), authority);
  EXPECT_EQ(ReadWholeFile(paths.server_key), key);
  CheckKeyPair({ReadWholeFile(paths.server_certificate), key}, "the server", "its key");
}

TEST_F(AuthorityFolder, GivesEveryClientACertificateOfItsOwn) {
  Init();
  std::set<std::string> serials;
  for (const char* name : {"a", "b", "station-7.north_2"}) {
    const IssuedCertificate issued = Issue(name);
    const std::string client = paths.clients + "/" + name;
    const KeyPair pair{ReadWholeFile(client + "/client.crt"),
                       ReadWholeFile(client + "/client.key")};
    CheckKeyPair(pair, name, "its key");
    const CertificateFacts facts = ReadCertificate(pair.certificate, name);
    EXPECT_EQ(facts.name, name);
    EXPECT_EQ(facts.serial, issued.serial);
    EXPECT_EQ(facts.valid.until, kNow + 730 * kDay);
    EXPECT_LE(facts.valid.from, kNow);
    EXPECT_EQ(ReadWholeFile(client + "/ca.crt"), ReadWholeFile(paths.certificate));
    serials.insert(issued.serial);
  }
  EXPECT_EQ(serials.size(), 3U);
  EXPECT_EQ(ReadAuthority(pki).clients.size(), 3U);
}

TEST_F(AuthorityFolder, RefusesANameThatHasAGoodCertificate) {
  Init();
  const std::string first = Issue("a").serial;
  EXPECT_THAT(MessageOf([&] { Issue("a"); }), HasSubstr("'a' has a certificate already"));
  const std::string second = Issue("a", true).serial;
  EXPECT_EQ(RevokeClient(pki, "a", kNow), 2U);
  const std::string third = Issue("a").serial;
  EXPECT_EQ(std::set({first, second, third}).size(), 3U);
  const auto clients = ReadAuthority(pki).clients;
  ASSERT_EQ(clients.size(), 3U);
  EXPECT_TRUE(clients[0].revoked && clients[1].revoked && !clients[2].revoked);
  // An expired certificate does not stand in the way either.
  IssueClient(pki, "a", {.now = kNow + 731 * kDay});
}

TEST_F(AuthorityFolder, RefusesNamesThatAreNotNames) {
  Init();
  for (const char* name : {"", ".", "..", "a/b", "a b", "ü", ".a", "-a", "a\n", "a,b"}) {
    EXPECT_THAT(MessageOf([&] { Issue(name); }), HasSubstr("cannot be a client's name")) << name;
  }
  EXPECT_THAT(MessageOf([&] { Issue(std::string(65, 'a')); }), HasSubstr("1 to 64"));
  EXPECT_EQ(Issue(std::string(64, 'a')).name.size(), 64U);
}

TEST_F(AuthorityFolder, GivesEveryClientAKeyForMasksThatItKeeps) {
  Init();
  Issue("a");
  Issue("b");
  const auto mask_key = [&](const std::string& name) {
    const std::string path = paths.Client(name) + "/mask.key";
    const std::string text = ReadWholeFile(path);
    ReadMaskKey(text, path);
    return text;
  };
  const std::string first = mask_key("a");
  EXPECT_NE(mask_key("b"), first);
  Issue("a", true);
  EXPECT_EQ(mask_key("a"), first);
  fs::remove(paths.Client("a") + "/mask.key");  // as older clients have it
  Issue("a", true);
  const std::string second = mask_key("a");
  EXPECT_NE(second, first);
  // Elsewhere it is the same key, unless another client's folder is replaced there.
  IssueClient(pki, "a", {.out = folder.At("device"), .renew = true, .now = kNow});
  EXPECT_EQ(ReadWholeFile(folder.At("device/mask.key")), second);
  IssueClient(pki, "c", {.out = folder.At("device"), .renew = true, .now = kNow});
  EXPECT_NE(ReadWholeFile(folder.At("device/mask.key")), second);
}

TEST_F(AuthorityFolder, KeepsNoKeyForMasksOfAClientThatWasRevoked) {
  Init();
  Issue("a");
  const std::string path = paths.Client("a") + "/mask.key";
  const std::string first = ReadWholeFile(path);
  RevokeClient(pki, "a", kNow);
  Issue("a", true);  // whoever took the device has its key
  const std::string second = ReadWholeFile(path);
  EXPECT_NE(second, first);
  IssueClient(pki, "a", {.now = kNow + 731 * kDay});  // not told to renew: everything is new
  EXPECT_NE(ReadWholeFile(path), second);
  ReplaceFile(path, "nonsense", FileMode::kSecret);
  EXPECT_THAT(MessageOf([&] { Issue("a", true); }),
              HasSubstr("mask.key: contains no readable private key"));
}

TEST_F(AuthorityFolder, GivesAHelperAFolderOfItsOwn) {
  Init();
  Issue("a");
  const mode_t before = umask(0);
  const IssuedCertificate issued =
      IssueHelper(pki, "auditor", {.hosts = {"helper.example.org", "192.0.2.8"}, .now = kNow});
  umask(before);
  const std::string home = paths.Helper("auditor");
  EXPECT_THAT(FilesIn(home),
              UnorderedElementsAre("ca.crt", "ca.crl", "helper.crt", "helper.key", "mask.key"));
  EXPECT_EQ(ModeOf(paths.helpers), 0700U);
  EXPECT_EQ(ModeOf(home), 0700U);
  EXPECT_EQ(ModeOf(home + "/helper.key"), 0600U);
  EXPECT_EQ(ModeOf(home + "/mask.key"), 0600U);
  EXPECT_EQ(ReadWholeFile(home + "/ca.crl"), ReadWholeFile(paths.revocations));
  const std::string certificate = ReadWholeFile(home + "/helper.crt");
  CheckKeyPair({certificate, ReadWholeFile(home + "/helper.key")}, "the helper", "its key");
  const CertificateFacts facts = ReadCertificate(certificate, "it");
  EXPECT_EQ(facts.name, "auditor");
  EXPECT_EQ(facts.serial, issued.serial);
  EXPECT_THAT(facts.hosts, ElementsAre("helper.example.org", "192.0.2.8"));
  const AuthorityContents all = ReadAuthority(pki);
  ASSERT_EQ(all.clients.size(), 1U);
  ASSERT_EQ(all.helpers.size(), 1U);
  EXPECT_EQ(all.helpers[0].serial, issued.serial);
}

TEST_F(AuthorityFolder, RenewsAHelperAndRevokesIt) {
  Init();
  const std::string home = paths.Helper("helper");
  IssueHelper(pki, "helper", {.now = kNow});
  EXPECT_THAT(ReadCertificate(ReadWholeFile(home + "/helper.crt"), "it").hosts,
              testing::Contains("localhost"));
  const std::string mask_key = ReadWholeFile(home + "/mask.key");
  EXPECT_THAT(MessageOf([&] { IssueHelper(pki, "helper", {.now = kNow}); }),
              HasSubstr("'helper' has a certificate already"));
  IssueHelper(pki, "helper", {.renew = true, .now = kNow});
  EXPECT_EQ(ReadWholeFile(home + "/mask.key"), mask_key);
  Issue("a");
  RevokeClient(pki, "a", kNow);  // its helper knows at once
  EXPECT_EQ(ReadWholeFile(home + "/ca.crl"), ReadWholeFile(paths.revocations));
  EXPECT_EQ(RevokeClient(pki, "helper", kNow), 2U);
  EXPECT_TRUE(ReadAuthority(pki).helpers[0].revoked && ReadAuthority(pki).helpers[1].revoked);
}

TEST_F(AuthorityFolder, GivesANameToOneRoleForEver) {
  Init();
  Issue("a");
  IssueHelper(pki, "b", {.now = kNow});
  const auto client = [&] { IssueClient(pki, "b", {.renew = true, .now = kNow}); };
  const auto helper = [&] { IssueHelper(pki, "a", {.renew = true, .now = kNow}); };
  EXPECT_EQ(MessageOf(client), "'b' is the name of a helper; give the client another");
  EXPECT_EQ(MessageOf(helper), "'a' is the name of a client; give the helper another");
  RevokeClient(pki, "a", kNow);
  RevokeClient(pki, "b", kNow);
  EXPECT_THAT(MessageOf(client), HasSubstr("'b' is the name of a helper"));
  EXPECT_THAT(MessageOf(helper), HasSubstr("'a' is the name of a client"));
  EXPECT_THAT(MessageOf([&] { IssueHelper(pki, "a/b", {.now = kNow}); }),
              HasSubstr("cannot be a helper's name"));
  EXPECT_THAT(MessageOf([&] { IssueHelper(pki, "c", {.hosts = {"a:1"}, .now = kNow}); }),
              HasSubstr("neither a host's name nor an IP address"));
  EXPECT_THAT(MessageOf([&] { IssueHelper(pki, "c", {.out = paths.Client("a"), .now = kNow}); }),
              HasSubstr("not a helper's folder"));
}

TEST_F(AuthorityFolder, RefusesHostsThatAreNotHosts) {
  for (const char* host : {"a:8443", "http://a", "a b", "", "a,DNS:b"}) {
    EXPECT_THAT(MessageOf([&] { InitAuthority(pki, {.hosts = {host}}); }),
                HasSubstr("neither a host's name nor an IP address"));
  }
  EXPECT_FALSE(fs::exists(pki));
}

TEST_F(AuthorityFolder, TouchesNoFolderThatIsNotAClients) {
  Init();
  fs::create_directories(folder.At("mine"));
  ReplaceFile(folder.At("mine/diary.txt"), "dear", FileMode::kOpen);
  EXPECT_THAT(MessageOf([&] { IssueClient(pki, "a", {.out = folder.At("mine"), .now = kNow}); }),
              HasSubstr("not a client's folder"));
  EXPECT_EQ(ReadWholeFile(folder.At("mine/diary.txt")), "dear");
  EXPECT_TRUE(ReadAuthority(pki).clients.empty());
  IssueClient(pki, "a", {.out = folder.At("deep/er/a/"), .now = kNow});
  EXPECT_TRUE(fs::exists(folder.At("deep/er/a/client.key")));
}

TEST_F(AuthorityFolder, SurvivesAKillBetweenTheListAndTheIndex) {
  Init();
  Issue("a");
  const std::string index = ReadWholeFile(paths.index);
  RevokeClient(pki, "a", kNow);
  ReplaceFile(paths.index, index, FileMode::kSecret);  // as if killed before the second write
  EXPECT_TRUE(ReadAuthority(pki).clients[0].revoked);
  Issue("a");  // revoked, so it may be issued again
  EXPECT_EQ(RevokeClient(pki, "a", kNow), 1U);
}

TEST_F(AuthorityFolder, RebuildsALostListFromTheIndex) {
  Init();
  Issue("a");
  const std::string serial = ReadAuthority(pki).clients[0].serial;
  Issue("b");
  RevokeClient(pki, "a", kNow);
  fs::remove(paths.revocations);
  EXPECT_EQ(RevokeClient(pki, "b", kNow), 1U);
  const auto list = ReadRevocationList(ReadWholeFile(paths.revocations),
                                       ReadWholeFile(paths.certificate), "ca.crl");
  EXPECT_EQ(list.revoked.size(), 2U);
}

TEST_F(AuthorityFolder, SaysInOneLineWhatIsWrong) {
  EXPECT_THAT(MessageOf([&] { ReadAuthority(pki); }), HasSubstr("polykern pki init"));
  Init();
  EXPECT_THAT(MessageOf([&] { IssueClient(pki, "a", {.now = kNow + 7301 * kDay}); }),
              HasSubstr("the authority expired on 2050-03-12"));
  EXPECT_THAT(MessageOf([&] { RevokeClient(pki, "a", kNow); }), HasSubstr("never issued"));
  ReplaceFile(paths.index, "[{]", FileMode::kSecret);
  EXPECT_THAT(MessageOf([&] { Issue("a"); }), HasSubstr("index.json: is damaged"));
  ReplaceFile(paths.key, MakeKey(), FileMode::kSecret);
  EXPECT_THAT(MessageOf([&] { Issue("a"); }), HasSubstr("does not belong"));
  ReplaceFile(paths.key, "nonsense", FileMode::kSecret);
  EXPECT_THAT(MessageOf([&] { Issue("a"); }),
              HasSubstr("ca.key: contains no readable private key"));
  fs::remove(paths.key);
  EXPECT_THAT(MessageOf([&] { Issue("a"); }), HasSubstr("ca.key: there is no such file"));
  ReplaceFile(paths.certificate, "nonsense", FileMode::kOpen);
  EXPECT_THAT(MessageOf([&] { Issue("a"); }), HasSubstr("ca.crt: "));
}

TEST_F(AuthorityFolder, EndsNoCertificateAfterItself) {
  InitAuthority(pki, {.hosts = {"localhost"}, .days = 10, .now = kNow});
  EXPECT_EQ(Issue("a").expires, kNow + 10 * kDay);
  EXPECT_EQ(ReadAuthority(pki).server.valid.until, kNow + 10 * kDay);
}

}  // namespace
}  // namespace polykern
