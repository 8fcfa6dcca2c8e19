#include "polykern/net/pki/mask_key_file.h"

#include <array>
#include <cstdint>
#include <string>

#include <gmock/gmock.h>

#include "polykern/io/folder_testing.h"
#include "polykern/net/pki/certificates.h"

namespace polykern {
namespace {

TEST(AMaskKeyFile, HoldsTheSecretOfRfc7748) {
  // Alice's of section 6.1, in the 48 bytes of RFC 8410, section 7.
  const std::string text =
      "-----BEGIN PRIVATE KEY-----\n"
      "MC4CAQAwBQYDK2VuBCIEIHcHbQpzGKV9PBbBclGyZkXfTC+H68CZKrF3+6UduSwq\n"
      "-----END PRIVATE KEY-----\n";
  const SecretKey alice = ReadMaskKey(text, "it");
  EXPECT_EQ(alice.bytes, (std::array<std::uint8_t, 32>{
                             0x77, 0x07, 0x6d, 0x0a, 0x73, 0x18, 0xa5, 0x7d, 0x3c, 0x16, 0xc1,
                             0x72, 0x51, 0xb2, 0x66, 0x45, 0xdf, 0x4c, 0x2f, 0x87, 0xeb, 0xc0,
                             0x99, 0x2a, 0xb1, 0x77, 0xfb, 0xa5, 0x1d, 0xb9, 0x2c, 0x2a}));
  EXPECT_EQ(PublicKeyOf(alice),
            (PublicKey{0x85, 0x20, 0xf0, 0x09, 0x89, 0x30, 0xa7, 0x54, 0x74, 0x8b, 0x7d,
                       0xdc, 0xb4, 0x3e, 0xf7, 0x5a, 0x0d, 0xbf, 0x3a, 0x0d, 0x26, 0x38,
                       0x1a, 0xf4, 0xeb, 0xa4, 0xa9, 0x8e, 0xaa, 0x9b, 0x4e, 0x6a}));
}

TEST(AMaskKeyFile, IsAnotherEachTime) {
  const std::string one = MakeMaskKey();
  const std::string other = MakeMaskKey();
  EXPECT_NE(ReadMaskKey(one, "it").bytes, ReadMaskKey(other, "it").bytes);
  EXPECT_EQ(ReadMaskKey(one, "it").bytes, ReadMaskKey(one, "it").bytes);
}

TEST(AMaskKeyFile, ThatHoldsSomethingElseIsRefused) {
  const std::string good = MakeMaskKey();
  EXPECT_EQ(
      MessageOf([&] { ReadMaskKey(MakeKey(), "mask.key"); }),
      "mask.key: is not a key for masks, which are X25519; restore the latest copy, or remove "
      "it and issue the folder again with renew");
  for (const std::string& bad :
       {std::string(), std::string("nonsense"), good.substr(0, good.size() / 2)}) {
    EXPECT_EQ(
        MessageOf([&] { ReadMaskKey(bad, "mask.key"); }),
        "mask.key: contains no readable private key; restore a copy of it, or make it again with "
        "polykern pki");
  }
}

}  // namespace
}  // namespace polykern
