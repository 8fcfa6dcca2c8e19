#include "polykern/net/mask_key_wire.h"

#include <gmock/gmock.h>

#include "polykern/core/error.h"
#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;

SignedMaskKey KeyOnTheWire() {
  SignedMaskKey key{.certificate = "certificate", .key = {}, .signature = "signature"};
  key.key.fill(200);
  return key;
}

TEST(MaskKeyWire, BringsAKeyBack) {
  const SignedMaskKey back = DecodeMaskKey(Encode(KeyOnTheWire()));
  EXPECT_EQ(back.certificate, "certificate");
  EXPECT_EQ(back.key, KeyOnTheWire().key);
  EXPECT_EQ(back.signature, "signature");
}

TEST(MaskKeyWire, BringsARosterBackInOrder) {
  SignedMaskKey other = KeyOnTheWire();
  other.key.fill(3);
  const auto back = DecodeMaskRoster(EncodeMaskRoster({KeyOnTheWire(), other}));
  ASSERT_EQ(back.size(), 2U);
  EXPECT_EQ(back[0].key, KeyOnTheWire().key);
  EXPECT_EQ(back[1].key, other.key);
  EXPECT_TRUE(DecodeMaskRoster("").empty());
  EXPECT_THAT(MessageOf([] { DecodeMaskRoster("\xff\xff"); }), HasSubstr("not a valid message"));
}

TEST(MaskKeyWire, RefusesWhatCannotBeAKey) {
  SignedMaskKey key = KeyOnTheWire();
  key.certificate = std::string(kLongestCertificate, 'c');
  EXPECT_EQ(DecodeMaskKey(Encode(key)).certificate, key.certificate);
  key.certificate += 'c';
  EXPECT_THAT(MessageOf([&] { DecodeMaskKey(Encode(key)); }), HasSubstr("of the wrong length"));
  key = KeyOnTheWire();
  key.signature = std::string(257, 's');
  EXPECT_THAT(MessageOf([&] { DecodeMaskKey(Encode(key)); }), HasSubstr("of the wrong length"));
  EXPECT_THAT(MessageOf([] { DecodeMaskKey(""); }), HasSubstr("of the wrong length"));
  EXPECT_THAT(MessageOf([] { DecodeMaskKey("\xff\xff"); }), HasSubstr("not a valid message"));
}

TEST(MaskKeyWire, SurvivesDamage) {
  const std::string good = Encode(KeyOnTheWire());
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const std::string& bytes :
         {good.substr(0, at), std::string(good).replace(at, 1, 1, '\x7f')}) {
      try {
        DecodeMaskKey(bytes);
      } catch (const Error&) {
      }
    }
  }
}

}  // namespace
}  // namespace polykern
