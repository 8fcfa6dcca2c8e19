#include "polykern/net/pki/client_identity.h"

#include <ctime>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>

#include "polykern/io/files.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/pki/admission.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/pki/certificates.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

class AClientsIdentity : public testing::Test {
 protected:
  AClientsIdentity() { InitAuthority(pki, {.hosts = {"localhost"}, .now = kNow}); }

  std::string Issue(const std::string& name) {
    IssueClient(pki, name, {.now = kNow});
    return AuthorityPaths(pki).clients + "/" + name;
  }
  static std::string NameIn(const ClientIdentity& identity) {
    return ReadCertificate(identity.certificate, "it").name;
  }

  static constexpr std::int64_t kNow = 1'900'000'000;
  static constexpr std::int64_t kDay = 86'400;
  const TestFolder folder;
  const std::string pki = folder.At("pki");
};

TEST_F(AClientsIdentity, IsReadFromItsFolder) {
  const std::string place = Issue("a");
  const ClientIdentity identity = ReadClientIdentity(place, kNow);
  EXPECT_EQ(identity.authority, ReadWholeFile(AuthorityPaths(pki).certificate));
  EXPECT_EQ(NameIn(identity), "a");
  CheckKeyPair({identity.certificate, identity.key}, "it", "its key");
  EXPECT_EQ(ReadClientIdentity(place + "/", kNow).certificate, identity.certificate);
}

TEST_F(AClientsIdentity, HasAKeyForMasksUnlessItsFolderIsOlder) {
  const std::string place = Issue("a");
  EXPECT_EQ(ReadClientIdentity(place, kNow).mask_key, ReadWholeFile(place + "/mask.key"));
  ReplaceFile(place + "/mask.key", MakeKey(), FileMode::kSecret);  // P-256, for certificates
  EXPECT_THAT(MessageOf([&] { ReadClientIdentity(place, kNow); }),
              HasSubstr("mask.key: is not a key for masks, which are X25519"));
  ReplaceFile(place + "/mask.key", "", FileMode::kSecret);
  EXPECT_THAT(MessageOf([&] { ReadClientIdentity(place, kNow); }),
              HasSubstr("mask.key: contains no readable private key"));
  std::filesystem::remove(place + "/mask.key");
  EXPECT_EQ(ReadClientIdentity(place, kNow).mask_key, "");
  EXPECT_EQ(ReadClientIdentities(AuthorityPaths(pki).clients, 1)[0].mask_key, "");
}

TEST_F(AClientsIdentity, OfAHelperIsReadFromItsFolder) {
  IssueHelper(pki, "auditor", {.now = kNow});
  const std::string place = AuthorityPaths(pki).Helper("auditor");
  const ClientIdentity identity = ReadHelperIdentity(place, kNow);
  EXPECT_EQ(identity.authority, ReadWholeFile(AuthorityPaths(pki).certificate));
  EXPECT_EQ(NameIn(identity), "auditor");
  EXPECT_EQ(identity.mask_key, ReadWholeFile(place + "/mask.key"));
  EXPECT_THAT(MessageOf([&] { ReadHelperIdentity(place, kNow + 730 * kDay); }),
              HasSubstr("`polykern pki helper auditor --renew`"));
  ReplaceFile(place + "/mask.key", "\n",
              FileMode::kSecret);  // in place of one, by a service's unit
  EXPECT_THAT(MessageOf([&] { ReadHelperIdentity(place, kNow); }),
              HasSubstr("mask.key: there is no such file; a helper needs"));
  std::filesystem::remove(place + "/mask.key");
  EXPECT_THAT(MessageOf([&] { ReadHelperIdentity(place, kNow); }),
              HasSubstr("mask.key: there is no such file; a helper needs"));
  EXPECT_THAT(MessageOf([&] { ReadHelperIdentity(Issue("a"), kNow); }),
              HasSubstr("helper.crt: there is no such file; make it with: polykern pki helper "));
}

TEST_F(AClientsIdentity, IsRefusedWhenItHasExpired) {
  const std::string place = Issue("a");
  ReadClientIdentity(place, kNow + 730 * kDay - 1);
  EXPECT_THAT(MessageOf([&] { ReadClientIdentity(place, kNow + 730 * kDay); }),
              HasSubstr("client.crt: expired on 2032-03-16; get a new one with `polykern pki issue "
                        "a --renew`"));
}

TEST_F(AClientsIdentity, IsRefusedWhenSomethingIsMissingOrDamaged) {
  EXPECT_THAT(
      MessageOf([&] { ReadClientIdentity(folder.At("none"), kNow); }),
      HasSubstr("client.crt: there is no such file; make it with: polykern pki issue NAME"));
  const std::string place = Issue("a");
  const std::string other = ReadWholeFile(Issue("b") + "/client.key");
  ReplaceFile(place + "/client.key", other, FileMode::kSecret);
  EXPECT_THAT(
      MessageOf([&] { ReadClientIdentity(place, kNow); }),
      HasSubstr("a/client.key: the key does not belong to the certificate, " + place + "/client."));
}

TEST_F(AClientsIdentity, NamesTheFileThatIsMissingOrDamaged) {
  IssueHelper(pki, "auditor", {.now = kNow});
  const auto check = [](const std::string& place, const std::string& whose, const auto& read) {
    for (const std::string& name : {std::string("ca.crt"), whose + ".crt", whose + ".key"}) {
      const std::string path = place + "/" + name;
      const std::string good = ReadWholeFile(path);
      for (const char* bad : {"nonsense", ""}) {
        ReplaceFile(path, bad, FileMode::kSecret);
        EXPECT_THAT(MessageOf(read), StartsWith(path + ": contains no readable "));
      }
      const std::string missing = path + ": there is no such file; make it with: polykern pki ";
      ReplaceFile(path, "\n", FileMode::kSecret);  // in place of one, by a service's unit
      EXPECT_THAT(MessageOf(read), StartsWith(missing));
      std::filesystem::remove(path);
      EXPECT_THAT(MessageOf(read), StartsWith(missing));
      ReplaceFile(path, good, FileMode::kSecret);
    }
    read();
  };
  const std::string client = Issue("a");
  check(client, "client", [&] { ReadClientIdentity(client, kNow); });
  const std::string helper = AuthorityPaths(pki).Helper("auditor");
  check(helper, "helper", [&] { ReadHelperIdentity(helper, kNow); });
  check(pki, "server", [&] { ReadServerIdentity(pki); });
}

TEST_F(AClientsIdentity, IsOneOfManyInTheOrderOfTheirNames) {
  for (const char* name : {"c", "a", "b"}) Issue(name);
  std::filesystem::create_directory(folder.At("pki/clients/0-not-a-client"));
  const auto two = ReadClientIdentities(AuthorityPaths(pki).clients, 2);
  ASSERT_THAT(two, SizeIs(2));
  EXPECT_EQ(NameIn(two[0]), "a");
  EXPECT_EQ(NameIn(two[1]), "b");
  CheckKeyPair({two[1].certificate, two[1].key}, "b", "its key");
  EXPECT_THAT(MessageOf([&] { ReadClientIdentities(AuthorityPaths(pki).clients, 4); }),
              HasSubstr("there are 3 clients' folders, not 4"));
  EXPECT_THAT(MessageOf([&] { ReadClientIdentities(folder.At("none"), 1); }),
              HasSubstr("there are 0 clients' folders, not 1"));
}

TEST_F(AClientsIdentity, MayBeMadeForTheOccasion) {
  const std::string now_pki = folder.At("now");
  InitAuthority(now_pki, {});
  const AuthorityPaths paths(now_pki);
  const auto made = MakeClientIdentities(now_pki, "load", 3, std::time(nullptr));
  ASSERT_THAT(made, SizeIs(3));
  Admission admission(paths.certificate, paths.revocations);
  for (std::size_t k = 0; k < made.size(); ++k) {
    EXPECT_EQ(admission.Check(made[k].certificate).name, "load-" + std::to_string(k));
    CheckKeyPair({made[k].certificate, made[k].key}, "it", "its key");
  }
  EXPECT_TRUE(ReadAuthority(now_pki).clients.empty());
  EXPECT_THAT(MessageOf([&] { MakeClientIdentities(folder.At("none"), "load", 1, 0); }),
              HasSubstr("there is no authority here"));
}

}  // namespace
}  // namespace polykern
