#include "polykern/privacy/mask_keys.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/io/folder_testing.h"
#include "polykern/privacy/hex_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;

std::vector<std::uint8_t> BytesOf(std::string_view text) {
  return {text.begin(), text.end()};
}

// RFC 7748, section 5.2.
TEST(X25519, IsThatOfTheStandard) {
  EXPECT_EQ(ToHex(SharedSecret({KeyFromHex("a546e36bf0527c9d3b16154b82465edd"
                                           "62144c0ac1fc5a18506a2244ba449ac4")},
                               KeyFromHex("e6db6867583030db3594c1a424b15f7c"
                                          "726624ec26b3353b10a903a6d0ab1c4c"))
                      .bytes),
            "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
  EXPECT_EQ(ToHex(SharedSecret({KeyFromHex("4b66e9d4d1b4673c5ad22691957d6af5"
                                           "c11b6421e0ea01d42ca4169e7918ba0d")},
                               KeyFromHex("e5210f12786811d3f4b7959d0538ae2c"
                                          "31dbe7106fc03c3efc4cd549c715a493"))
                      .bytes),
            "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957");
}

// There as well: each result is the next secret, and the secret before the next point.
TEST(X25519, IsThatOfTheStandardAThousandTimesOver) {
  SecretKey secret{{9}};
  PublicKey point{9};
  for (int round = 1; round <= 1000; ++round) {
    const SecretKey next = SharedSecret(secret, point);
    point = secret.bytes;
    secret = next;
    if (round == 1) {
      EXPECT_EQ(ToHex(secret.bytes),
                "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079");
    }
  }
  EXPECT_EQ(ToHex(secret.bytes),
            "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51");
}

// RFC 7748, section 6.1.
TEST(X25519, AgreesAsInTheStandard) {
  const SecretKey alice{
      KeyFromHex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")};
  const SecretKey bob{
      KeyFromHex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")};
  EXPECT_EQ(ToHex(PublicKeyOf(alice)),
            "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
  EXPECT_EQ(ToHex(PublicKeyOf(bob)),
            "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
  constexpr const char* kShared =
      "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742";
  EXPECT_EQ(ToHex(SharedSecret(alice, PublicKeyOf(bob)).bytes), kShared);
  EXPECT_EQ(ToHex(SharedSecret(bob, PublicKeyOf(alice)).bytes), kShared);
}

TEST(X25519, RefusesPublicKeysThatGiveNoSecret) {
  const MaskKeys own = MakeMaskKeys();
  // Points of small order: 0, 1, p - 1, p, one of order 8.
  for (const char* point : {"0000000000000000000000000000000000000000000000000000000000000000",
                            "0100000000000000000000000000000000000000000000000000000000000000",
                            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                            "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                            "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"}) {
    EXPECT_THAT(MessageOf([&] { SharedSecret(own.secret, KeyFromHex(point)); }),
                HasSubstr("is unusable, damaged or forged"))
        << point;
    EXPECT_THAT(MessageOf([&] { PairKey(own.secret, KeyFromHex(point), {}); }),
                HasSubstr("is unusable, damaged or forged"));
  }
}

TEST(MaskKeys, AreNewEachTimeAndBelongTogether) {
  std::set<PublicKey> seen;
  for (int i = 0; i < 20; ++i) {
    const MaskKeys keys = MakeMaskKeys();
    EXPECT_EQ(PublicKeyOf(keys.secret), keys.open);
    EXPECT_TRUE(seen.insert(keys.open).second);
  }
}

// RFC 5869, appendix A.1 to A.3.
TEST(Hkdf, IsThatOfTheStandard) {
  const auto hkdf = [](std::string_view secret, std::string_view salt, std::string_view info,
                       std::size_t size) {
    std::vector<std::uint8_t> key(size);
    Hkdf(FromHex(secret), FromHex(salt), FromHex(info), key);
    return ToHex(key);
  };
  const std::string secret = ToHex(std::vector<std::uint8_t>(22, 0x0b));
  EXPECT_EQ(hkdf(secret, "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9", 42),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
  EXPECT_EQ(hkdf(secret, "", "", 42),
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
  std::vector<std::uint8_t> run(256);
  for (std::size_t i = 0; i < run.size(); ++i) run[i] = static_cast<std::uint8_t>(i);
  const std::string bytes = ToHex(run);
  EXPECT_EQ(hkdf(bytes.substr(0, 160), bytes.substr(192, 160), bytes.substr(352), 82),
            "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41"
            "c65e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87");
}

// RFC 4231, test cases 1, 2 and 6 (a key longer than a block).
TEST(Hmac, IsThatOfTheStandard) {
  EXPECT_EQ(ToHex(HmacSha256(std::vector<std::uint8_t>(20, 0x0b), BytesOf("Hi There"))),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(ToHex(HmacSha256(BytesOf("Jefe"), BytesOf("what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(ToHex(HmacSha256(std::vector<std::uint8_t>(131, 0xaa),
                             BytesOf("Test Using Larger Than Block-Size Key - Hash Key First"))),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  // An empty key is a key as well, and nothing a message.
  EXPECT_EQ(ToHex(HmacSha256({}, {})),
            "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST(PairKey, IsTheSameFromEitherSideAndDiffersForOthers) {
  const MaskKeys client = MakeMaskKeys();
  const MaskKeys helper = MakeMaskKeys();
  const MaskKeys stranger = MakeMaskKeys();
  const PairTerms terms{"air", 3, "site-1", "auditor"};
  const auto key = PairKey(client.secret, helper.open, terms).bytes;
  EXPECT_EQ(PairKey(helper.secret, client.open, terms).bytes, key);
  EXPECT_NE(PairKey(stranger.secret, client.open, terms).bytes, key);
  EXPECT_NE(PairKey(stranger.secret, helper.open, terms).bytes, key);
  EXPECT_NE(key, SharedSecret(client.secret, helper.open).bytes);
}

// The bytes are agreed on by programs of different versions: this is what they were at first. The
// twin puts them together by hand, from the standard's parts.
TEST(PairKey, IsMadeAsItAlwaysWas) {
  const SecretKey client{KeyFromHex(std::string(64, '1'))};
  const SecretKey helper{KeyFromHex(std::string(64, '2'))};
  std::string info;
  const auto number = [&](std::uint64_t value) {
    for (int i = 0; i < 8; ++i, value /= 256) info += static_cast<char>(value % 256);
  };
  const auto text = [&](const std::string& value) {
    number(value.size());
    info += value;
  };
  text("polykern pair key 1");
  text("air");
  number(258);
  text("site-1");
  text("auditor");
  text("noise 7");
  auto low = PublicKeyOf(client);
  auto high = PublicKeyOf(helper);
  if (low > high) std::swap(low, high);
  std::vector<std::uint8_t> salt(low.begin(), low.end());
  salt.insert(salt.end(), high.begin(), high.end());
  // HKDF of one block: HMAC of the information and a 1, with the HMAC of the secret as key.
  const auto extracted = HmacSha256(salt, SharedSecret(client, PublicKeyOf(helper)).bytes);
  info += '\1';
  EXPECT_EQ(
      PairKey(client, PublicKeyOf(helper), {"air", 258, "site-1", "auditor", "noise 7"}).bytes,
      HmacSha256(extracted, BytesOf(info)));
}

TEST(PairKey, IsAnotherForEveryOtherTerm) {
  const MaskKeys client = MakeMaskKeys();
  const MaskKeys helper = MakeMaskKeys();
  std::set<std::array<std::uint8_t, 32>> keys;
  // The last ones are those before with letters moved from one name to its neighbour.
  const PairTerms all[] = {
      {"air", 1, "ab", "cd"},     {"air", 2, "ab", "cd"}, {"uji", 1, "ab", "cd"},
      {"air", 1, "ax", "cd"},     {"air", 1, "ab", "cx"}, {"air", 1, "ab", "cd", "x"},
      {"air", 1, "a", "bcd"},     {"air", 1, "abc", "d"}, {"air", 1, "abcd", ""},
      {"air", 1, "ab", "c", "d"}, {"ai", 1, "rab", "cd"}, {"air", 1, "cd", "ab"},
  };
  for (const PairTerms& terms : all) {
    keys.insert(PairKey(client.secret, helper.open, terms).bytes);
  }
  EXPECT_EQ(keys.size(), std::size(all));
}

}  // namespace
}  // namespace polykern
