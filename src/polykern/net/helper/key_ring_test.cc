#include "polykern/net/helper/key_ring.h"

#include <ctime>
#include <optional>

#include <gmock/gmock.h>

#include "polykern/io/folder_testing.h"
#include "polykern/net/helper/helper_testing.h"
#include "polykern/net/mask_key_wire.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/pki/client_identity.h"

namespace polykern {
namespace {

using testing::HasSubstr;

class AKeyRing : public testing::Test {
 protected:
  AKeyRing() {
    InitAuthority(pki, {.hosts = {"127.0.0.1"}});
    door.emplace(pki + "/ca.crt", pki + "/ca.crl");
    Open();
  }

  void Open() { ring.emplace(std::set<std::string>{"a", "b"}, &*door, log); }

  /// Of a folder that is made for it.
  SignedMaskKey Issue(const std::string& name) {
    IssueClient(pki, name, {.renew = true});
    return SignMaskKey(ReadClientIdentity(pki + "/clients/" + name, std::time(nullptr)));
  }

  TestFolder folder;
  const std::string pki = folder.At("pki");
  std::optional<Admission> door;
  MemoryHelperLog log;
  std::optional<KeyRing> ring;
};

TEST_F(AKeyRing, HasTheKeysThatAreProven) {
  const SignedMaskKey key = Issue("a");
  EXPECT_THAT(ring->Find("a").reason, HasSubstr("its mask key is missing"));
  EXPECT_TRUE(ring->Find("a").later);
  ring->Take({{"a", key}});
  EXPECT_EQ(ring->Find("a").key, key.key);
  EXPECT_TRUE(ring->Find("b").later);
}

TEST_F(AKeyRing, RefusesKeysThatAreNotProven) {
  SignedMaskKey key = Issue("a");
  ring->Take({{"b", key}});  // the server relays them, and may mix them up
  EXPECT_THAT(ring->Find("b").reason, HasSubstr("its mask key is that of a"));
  EXPECT_FALSE(ring->Find("b").later);
  ++key.key[0];
  ring->Take({{"a", key}});
  EXPECT_FALSE(ring->Find("a").key);
  EXPECT_FALSE(ring->Find("a").later);
  ring->Take({{"a", {}}});
  EXPECT_FALSE(ring->Find("a").key);
  EXPECT_TRUE(log.contents.keys.empty());
}

TEST_F(AKeyRing, HasNoPlaceForOthers) {
  ring->Take({{"c", Issue("c")}});
  EXPECT_TRUE(ring->Find("c").later);
  EXPECT_TRUE(log.contents.keys.empty());
}

TEST_F(AKeyRing, LosesAKeyWhoseClientIsRevoked) {
  const SignedMaskKey key = Issue("a");
  ring->Take({{"a", key}, {"b", Issue("b")}});
  ASSERT_TRUE(ring->Find("a").key);
  RevokeClient(pki, "a");
  ring->Take({});
  EXPECT_THAT(ring->Find("a").reason, HasSubstr("revoked"));
  EXPECT_TRUE(ring->Find("b").key);
  ring->Take({{"a", key}});
  EXPECT_THAT(ring->Find("a").reason, HasSubstr("revoked"));
  const SignedMaskKey renewed = Issue("a");
  ring->Take({{"a", renewed}});
  EXPECT_EQ(ring->Find("a").key, renewed.key);
}

TEST_F(AKeyRing, JudgesAgainWhereverTheClockJumps) {
  const std::int64_t today = std::time(nullptr);
  for (const std::int64_t jump : {-1'000'000'000, -61, 60, 86'400, 1'000'000'000}) {
    std::int64_t now = today;
    KeyRing jumping({"a"}, &*door, log, [&now] { return now; });
    const SignedMaskKey key = Issue("a");
    jumping.Take({{"a", key}});
    EXPECT_TRUE(jumping.Find("a").key);
    now += jump;  // certificates are judged by the system's clock, which has not jumped
    EXPECT_EQ(jumping.Find("a").key, key.key) << jump;
    EXPECT_EQ(jumping.Find("a").key, key.key) << jump;
    now = today;
    EXPECT_TRUE(jumping.Find("a").key) << jump;
    RevokeClient(pki, "a");
    EXPECT_TRUE(jumping.Find("a").key) << "it was judged a moment ago";
    now += jump;
    EXPECT_THAT(jumping.Find("a").reason, HasSubstr("revoked")) << jump;
  }
}

TEST_F(AKeyRing, KeepsAGoodKeyIfABadOneComes) {
  const SignedMaskKey key = Issue("a");
  ring->Take({{"a", key}});
  SignedMaskKey bad = key;
  ++bad.key[0];
  ring->Take({{"a", bad}});
  EXPECT_EQ(ring->Find("a").key, key.key);
}

TEST_F(AKeyRing, RemembersKeysInTheLog) {
  const SignedMaskKey a = Issue("a");
  ring->Take({{"a", a}, {"b", Issue("b")}});
  RevokeClient(pki, "b");
  log.contents.keys["c"] = Encode(Issue("c"));
  log.contents.keys["d"] = "damaged";
  Open();
  EXPECT_EQ(ring->Find("a").key, a.key);
  EXPECT_THAT(ring->Find("b").reason, HasSubstr("revoked"));
  EXPECT_TRUE(ring->Find("c").later);
}

TEST_F(AKeyRing, WritesKeysLaterIfThereIsNoRoom) {
  const SignedMaskKey key = Issue("a");
  log.full = true;
  ring->Take({{"a", key}});
  EXPECT_EQ(ring->Find("a").key, key.key);
  log.full = false;
  ring->Take({});
  EXPECT_EQ(log.contents.keys.at("a"), Encode(key));
}

TEST_F(AKeyRing, TakesAnyKeyWhereThereAreNoCertificates) {
  KeyRing insecure({"a"}, nullptr, log);
  SignedMaskKey key;
  key.key = MakeMaskKeys().open;
  insecure.Take({{"a", key}});
  EXPECT_EQ(insecure.Find("a").key, key.key);
  KeyRing again({"a"}, nullptr, log);
  EXPECT_EQ(again.Find("a").key, key.key);
}

}  // namespace
}  // namespace polykern
