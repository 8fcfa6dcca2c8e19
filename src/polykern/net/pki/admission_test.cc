#include "polykern/net/pki/admission.h"

#include <atomic>
#include <ctime>
#include <filesystem>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "polykern/io/files.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/pki/openssl_internal.h"

namespace polykern {
namespace {

using testing::HasSubstr;

class AdmissionTo : public testing::Test {
 protected:
  AdmissionTo() { InitAuthority(pki, {}); }

  std::string Certificate(const std::string& name) {
    IssueClient(pki, name, {});
    return ReadWholeFile(paths.clients + "/" + name + "/client.crt");
  }
  KeyPair Authority() { return {ReadWholeFile(paths.certificate), ReadWholeFile(paths.key)}; }

  TestFolder folder;
  const std::string pki = folder.At("pki");
  const AuthorityPaths paths{pki};
  const std::int64_t now = std::time(nullptr);
};

TEST_F(AdmissionTo, LetsAClientInByItsName) {
  const std::string certificate = Certificate("station-7");
  Admission door(paths.certificate, paths.revocations);
  const AdmissionResult result = door.Check(certificate);
  EXPECT_TRUE(result.good());
  EXPECT_EQ(result.name, "station-7");
  EXPECT_EQ(result.serial, ReadAuthority(pki).clients[0].serial);
  EXPECT_EQ(result.reason, "");
}

TEST_F(AdmissionTo, NoticesARevocationWithoutARestart) {
  const std::string a = Certificate("a");
  const std::string b = Certificate("b");
  Admission door(paths.certificate, paths.revocations);
  EXPECT_TRUE(door.Check(a).good());
  EXPECT_FALSE(door.Refresh());
  RevokeClient(pki, "a");
  EXPECT_EQ(door.Check(a).reason, "the certificate is revoked");
  EXPECT_TRUE(door.Refresh());
  EXPECT_FALSE(door.Refresh());
  EXPECT_TRUE(door.Check(b).good());
  std::filesystem::remove_all(paths.clients + "/a");
  EXPECT_EQ(door.Check(Certificate("a")).name, "a");  // a new one of the same name
  EXPECT_FALSE(door.Check(a).good());
}

TEST_F(AdmissionTo, KnowsWhichSerialNumbersAreRevoked) {
  Certificate("a");
  Certificate("b");
  Admission door(paths.certificate, paths.revocations);
  const std::vector<IssuedCertificate> clients = ReadAuthority(pki).clients;
  EXPECT_FALSE(door.IsRevoked(clients[0].serial));
  RevokeClient(pki, "a");
  EXPECT_TRUE(door.IsRevoked(clients[0].serial));
  EXPECT_FALSE(door.IsRevoked(clients[1].serial));
  EXPECT_FALSE(door.IsRevoked("")) << "of a client that never showed one";
  EXPECT_FALSE(door.IsRevoked("not a number"));
}

TEST_F(AdmissionTo, RefusesEverythingElseAndSaysWhy) {
  Admission door(paths.certificate, paths.revocations);
  const KeyPair authority = Authority();
  const std::string key = MakeKey();
  const auto reason = [&](const std::string& certificate) {
    const AdmissionResult result = door.Check(certificate);
    EXPECT_FALSE(result.good());
    return result.reason;
  };
  EXPECT_THAT(reason(MakeClientCertificate(authority, key, "a", {now - 100, now - 1})),
              HasSubstr("expired"));
  EXPECT_THAT(reason(MakeClientCertificate(authority, key, "a", {now + 100, now + 200})),
              HasSubstr("not valid yet"));
  const KeyPair stranger = MakeAuthority({now - 1, now + 1000});
  EXPECT_THAT(reason(MakeClientCertificate(stranger, key, "a", {now - 1, now + 100})),
              HasSubstr("not from this federation's authority"));
  // Another authority's certificate under our name.
  EXPECT_THAT(reason(MakeClientCertificate({authority.certificate, stranger.key}, key, "a",
                                           {now - 1, now + 100})),
              HasSubstr("not from this federation's authority"));
  EXPECT_EQ(reason(ReadWholeFile(paths.server_certificate)), "the certificate is not a client's");
  EXPECT_NE(reason(authority.certificate), "");
  EXPECT_THAT(reason(""), HasSubstr("no readable certificate"));
  EXPECT_THAT(reason("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
              HasSubstr("no readable certificate"));
}

TEST_F(AdmissionTo, KnowsTheRolesApart) {
  struct End {
    Role role;
    std::string certificate, name, refusal;
  };
  const std::string key = MakeKey();
  const std::vector<std::string> hosts = {"localhost"};
  const Validity valid{now - 100, now + 100};
  const std::vector<End> ends = {
      {Role::kClient, Certificate("a"), "a", "the certificate is not a client's"},
      {Role::kServer, ReadWholeFile(paths.server_certificate), "polykern server",
       "the certificate is not the server's"},
      {Role::kHelper, MakeHelperCertificate(Authority(), key, "helper", hosts, valid), "helper",
       "the certificate is not a helper's"}};
  Admission door(paths.certificate, paths.revocations);
  const std::string authority = Authority().certificate;
  for (const End& comes : ends) {
    for (const End& awaited : ends) {
      const bool same = comes.role == awaited.role;
      for (const AdmissionResult& result :
           {door.Check(comes.certificate, awaited.role),
            CheckCertificate(comes.certificate, awaited.role, authority)}) {
        EXPECT_EQ(result.name, same ? comes.name : "");
        EXPECT_EQ(result.reason, same ? "" : awaited.refusal);
      }
    }
  }
}

TEST_F(AdmissionTo, IsJudgedWithoutAListByWhoHasNone) {
  const std::string certificate = Certificate("a");
  const std::string authority = Authority().certificate;
  RevokeClient(pki, "a");
  EXPECT_EQ(CheckCertificate(certificate, Role::kClient, authority).name, "a");
  const KeyPair stranger = MakeAuthority({now - 1, now + 1000});
  EXPECT_THAT(CheckCertificate(certificate, Role::kClient, stranger.certificate).reason,
              HasSubstr("not from this federation's authority"));
  const std::string key = MakeKey();
  EXPECT_THAT(CheckCertificate(MakeClientCertificate(Authority(), key, "a", {now - 100, now - 1}),
                               Role::kClient, authority)
                  .reason,
              HasSubstr("expired"));
  EXPECT_THAT(MessageOf([&] { CheckCertificate(certificate, Role::kClient, "nonsense"); }),
              HasSubstr("the authority's certificate: contains no readable certificate"));
}

TEST_F(AdmissionTo, JudgesWhatTlsHasVerifiedByTimeListRoleAndName) {
  const std::string a = Certificate("a");
  Admission door(paths.certificate, paths.revocations);
  const auto judge = [&](const std::string& certificate) {
    return door.CheckVerified({ParseCertificate(certificate).release(), X509_free});
  };
  EXPECT_EQ(judge(a).name, "a");
  EXPECT_GT(judge(a).valid_until, now);
  const auto made = [&](const std::string& name, const Validity& valid) {
    return MakeClientCertificate(Authority(), MakeKey(), name, valid);
  };
  EXPECT_THAT(judge(made("a", {now - 100, now - 2})).reason, HasSubstr("expired"));
  EXPECT_THAT(judge(made("a", {now + 100, now + 200})).reason, HasSubstr("not valid yet"));
  EXPECT_THAT(judge(ReadWholeFile(paths.server_certificate)).reason, HasSubstr("not a client's"));
  EXPECT_THAT(door.CheckVerified(nullptr).reason, HasSubstr("no readable certificate"));
  RevokeClient(pki, "a");
  EXPECT_EQ(judge(a).reason, "the certificate is revoked");
}

TEST_F(AdmissionTo, RefusesACertificateSignedByAClient) {
  const std::string mallory = Certificate("mallory");
  const std::string key = ReadWholeFile(paths.clients + "/mallory/client.key");
  Admission door(paths.certificate, paths.revocations);
  EXPECT_FALSE(
      door.Check(MakeClientCertificate({mallory, key}, key, "a", {now - 1, now + 100}) + mallory)
          .good());
}

TEST_F(AdmissionTo, NeedsAListThatItsAuthoritySigned) {
  const auto open = [&] { Admission(paths.certificate, paths.revocations); };
  const std::string list = ReadWholeFile(paths.revocations);
  const std::string foreign = MakeRevocationList(MakeAuthority({now - 1, now + 1000}), {}, now);
  ReplaceFile(paths.revocations, foreign, FileMode::kOpen);
  EXPECT_THAT(MessageOf(open), HasSubstr("ca.crl: the revocation list is not signed by this"));
  ReplaceFile(paths.revocations, list.substr(0, list.size() / 2), FileMode::kOpen);
  EXPECT_THAT(MessageOf(open), HasSubstr("ca.crl: contains no readable revocation list"));
  std::filesystem::remove(paths.revocations);
  EXPECT_THAT(MessageOf(open), HasSubstr("ca.crl: there is no such file"));
}

TEST_F(AdmissionTo, KeepsTheLastGoodListWhenTheNewOneIsBad) {
  const std::string a = Certificate("a");
  const std::string b = Certificate("b");
  RevokeClient(pki, "a");
  Admission door(paths.certificate, paths.revocations);
  const std::string list = ReadWholeFile(paths.revocations);
  ReplaceFile(paths.revocations, "nonsense", FileMode::kOpen);
  EXPECT_FALSE(door.Check(a).good());
  EXPECT_TRUE(door.Check(b).good());
  EXPECT_FALSE(door.Refresh());
  EXPECT_THAT(door.trouble(), HasSubstr("the last valid revocation list stays in force"));
  ReplaceFile(paths.revocations, list, FileMode::kOpen);
  EXPECT_TRUE(door.Refresh());
  EXPECT_EQ(door.trouble(), "");
}

TEST_F(AdmissionTo, MayBeAskedByManyThreads) {
  const std::string a = Certificate("a");
  const std::string b = Certificate("b");
  Admission door(paths.certificate, paths.revocations);
  std::atomic<int> refused = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (door.Check(a).good()) EXPECT_TRUE(door.Check(b).good());
      door.Refresh();
      ++refused;
    });
  }
  RevokeClient(pki, "a");
  threads.clear();  // each ends when it has noticed
  EXPECT_EQ(refused, 4);
}

}  // namespace
}  // namespace polykern
