#include "polykern/net/pki/signed_mask_key.h"

#include <ctime>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "polykern/io/files.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/pki/mask_key_file.h"

namespace polykern {
namespace {

using testing::HasSubstr;

class ASignedMaskKey : public testing::Test {
 protected:
  ASignedMaskKey() { InitAuthority(pki, {.hosts = {"localhost"}}); }

  ClientIdentity Client(const std::string& name) {
    IssueClient(pki, name, {});
    return ReadClientIdentity(paths.Client(name), now);
  }
  ClientIdentity Helper() {
    IssueHelper(pki, "auditor", {});
    return ReadHelperIdentity(paths.Helper("auditor"), now);
  }
  /// One with these times, which the authority did not write down.
  ClientIdentity Made(const Validity& valid) const {
    const KeyPair authority{ReadWholeFile(paths.certificate), ReadWholeFile(paths.key)};
    const std::string key = MakeKey();
    return {authority.certificate, MakeClientCertificate(authority, key, "a", valid), key,
            MakeMaskKey()};
  }
  /// What is wrong with it, as those say who have the list and those who have not.
  std::string Wrong(const SignedMaskKey& mask_key, Role role = Role::kClient) {
    Admission door(paths.certificate, paths.revocations);
    const std::string with = MessageOf([&] { VerifyMaskKey(mask_key, role, door); });
    const std::string without =
        MessageOf([&] { VerifyMaskKey(mask_key, role, ReadWholeFile(paths.certificate)); });
    EXPECT_EQ(with, without);
    return with;
  }

  const TestFolder folder;
  const std::string pki = folder.At("pki");
  const AuthorityPaths paths{pki};
  const std::int64_t now = std::time(nullptr);
};

TEST_F(ASignedMaskKey, SaysWhoseItIs) {
  const ClientIdentity own = Client("station-7");
  const SignedMaskKey mask_key = SignMaskKey(own);
  Admission door(paths.certificate, paths.revocations);
  for (const VerifiedMaskKey& verified : {VerifyMaskKey(mask_key, Role::kClient, door),
                                          VerifyMaskKey(mask_key, Role::kClient, own.authority)}) {
    EXPECT_EQ(verified.name, "station-7");
    EXPECT_EQ(verified.key, PublicKeyOf(ReadMaskKey(own.mask_key, "it")));
    EXPECT_EQ(verified.serial, ReadAuthority(pki).clients[0].serial);
    EXPECT_EQ(verified.valid_until, ReadAuthority(pki).clients[0].expires);
  }
}

TEST_F(ASignedMaskKey, LetsAClientAndAHelperAgree) {
  const ClientIdentity client = Client("a");
  const ClientIdentity helper = Helper();
  const std::string place = paths.Helper("auditor");
  Admission door(place + "/ca.crt", place + "/ca.crl");
  const VerifiedMaskKey of_client = VerifyMaskKey(SignMaskKey(client), Role::kClient, door);
  const VerifiedMaskKey of_helper =
      VerifyMaskKey(SignMaskKey(helper), Role::kHelper, client.authority);
  EXPECT_EQ(of_helper.name, "auditor");
  EXPECT_EQ(SharedSecret(ReadMaskKey(client.mask_key, "a"), of_helper.key).bytes,
            SharedSecret(ReadMaskKey(helper.mask_key, "b"), of_client.key).bytes);
}

TEST_F(ASignedMaskKey, IsOfOneRole) {
  const SignedMaskKey client = SignMaskKey(Client("a"));
  const SignedMaskKey helper = SignMaskKey(Helper());
  const ClientIdentity server{ReadWholeFile(paths.certificate),
                              ReadWholeFile(paths.server_certificate),
                              ReadWholeFile(paths.server_key), MakeMaskKey()};
  const SignedMaskKey forged = SignMaskKey(server);
  const std::string not_client = "the mask key is not valid: the certificate is not a client's";
  const std::string not_helper = "the mask key is not valid: the certificate is not a helper's";
  EXPECT_EQ(Wrong(client, Role::kHelper), not_helper);
  EXPECT_EQ(Wrong(helper, Role::kClient), not_client);
  EXPECT_EQ(Wrong(forged, Role::kHelper), not_helper);
  EXPECT_EQ(Wrong(forged, Role::kClient), not_client);
}

TEST_F(ASignedMaskKey, IsNothingWhenAnyOfItIsAnothers) {
  const SignedMaskKey a = SignMaskKey(Client("a"));
  const SignedMaskKey b = SignMaskKey(Client("b"));
  const std::string unsigned_by_a = "the mask key is not valid: 'a' has not signed it";
  EXPECT_EQ(Wrong({a.certificate, b.key, a.signature}), unsigned_by_a);
  EXPECT_EQ(Wrong({a.certificate, a.key, b.signature}), unsigned_by_a);
  EXPECT_EQ(Wrong({a.certificate, b.key, b.signature}), unsigned_by_a);
  EXPECT_EQ(Wrong({a.certificate, a.key, ""}), unsigned_by_a);
  EXPECT_EQ(Wrong({a.certificate, a.key, std::string(72, '\0')}), unsigned_by_a);
  EXPECT_EQ(Wrong({a.certificate, a.key, std::string(100'000, 'x')}), unsigned_by_a);
  EXPECT_THAT(Wrong({"nonsense", a.key, a.signature}), HasSubstr("no readable certificate"));
  EXPECT_THAT(Wrong({"", a.key, a.signature}), HasSubstr("no readable certificate"));
  for (std::size_t bit = 0; bit < 8 * a.key.size(); ++bit) {
    SignedMaskKey changed = a;
    changed.key[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    EXPECT_THROW(VerifyMaskKey(changed, Role::kClient, ReadWholeFile(paths.certificate)), Error);
  }
}

TEST_F(ASignedMaskKey, EndsWithItsCertificate) {
  const SignedMaskKey expired = SignMaskKey(Made({now - 100, now - 1}));
  EXPECT_THAT(Wrong(expired), HasSubstr("the certificate has expired"));
  const SignedMaskKey early = SignMaskKey(Made({now + 100, now + 200}));
  EXPECT_THAT(Wrong(early), HasSubstr("not valid yet"));
  EXPECT_EQ(VerifyMaskKey(SignMaskKey(Made({now - 1, now + 100})), Role::kClient,
                          ReadWholeFile(paths.certificate))
                .valid_until,
            now + 100);
}

TEST_F(ASignedMaskKey, IsOfThisAuthority) {
  const std::string elsewhere = folder.At("elsewhere");
  InitAuthority(elsewhere, {.hosts = {"localhost"}});
  IssueClient(elsewhere, "a", {});
  const ClientIdentity stranger = ReadClientIdentity(AuthorityPaths(elsewhere).Client("a"), now);
  EXPECT_THAT(Wrong(SignMaskKey(stranger)), HasSubstr("not from this federation's authority"));
}

TEST_F(ASignedMaskKey, IsNotGoodOnceItsOwnerIsRevoked) {
  const SignedMaskKey mask_key = SignMaskKey(Client("a"));
  Admission door(paths.certificate, paths.revocations);
  VerifyMaskKey(mask_key, Role::kClient, door);
  RevokeClient(pki, "a");
  EXPECT_TRUE(door.Refresh());
  EXPECT_FALSE(door.Check(mask_key.certificate).good());  // all that a cache must ask
  EXPECT_EQ(MessageOf([&] { VerifyMaskKey(mask_key, Role::kClient, door); }),
            "the mask key is not valid: the certificate is revoked");
}

TEST_F(ASignedMaskKey, SurvivesARenewal) {
  const SignedMaskKey before = SignMaskKey(Client("a"));
  IssueClient(pki, "a", {.renew = true});
  const SignedMaskKey after = SignMaskKey(ReadClientIdentity(paths.Client("a"), now));
  EXPECT_NE(after.certificate, before.certificate);
  EXPECT_EQ(after.key, before.key);
  EXPECT_EQ(Wrong({after.certificate, after.key, before.signature}),
            "the mask key is not valid: 'a' has not signed it");
}

TEST_F(ASignedMaskKey, NeedsAMaskKey) {
  ClientIdentity own = Client("a");
  own.mask_key.clear();
  EXPECT_EQ(MessageOf([&] { SignMaskKey(own); }),
            "'a' has no mask.key, which masked sums need; make it with: polykern pki issue a "
            "--renew");
}

}  // namespace
}  // namespace polykern
