#include "polykern/io/checksum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;

// FIPS 180-2, appendix B, and the sum of nothing.
constexpr const char* kSumOfAbc =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kSumOfNothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* kSumOfMillion =
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(Sha256, OfAFileIsThatOfTheStandard) {
  const TestFolder folder;
  EXPECT_EQ(Sha256OfFile(folder.Write("abc", "abc")), kSumOfAbc);
  EXPECT_EQ(Sha256OfFile(folder.Write("empty", "")), kSumOfNothing);
  // Many blocks, the last one not full.
  EXPECT_EQ(Sha256OfFile(folder.Write("a", std::string(1'000'000, 'a'))), kSumOfMillion);
}

TEST(Sha256, OfBytesIsThatOfAFileThatHoldsThem) {
  const TestFolder folder;
  for (const std::size_t size : {0U, 1U, 63U, 64U, 65U, 1000U}) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7);
    std::string digits;
    for (const std::byte byte : Sha256(std::as_bytes(std::span(text)))) {
      const auto value = std::to_integer<unsigned>(byte);
      digits += {"0123456789abcdef"[value / 16], "0123456789abcdef"[value % 16]};
    }
    EXPECT_EQ(digits, Sha256OfFile(folder.Write("file", text))) << size;
  }
}

TEST(Sha256, OfAFileThatCannotBeReadIsAnError) {
  const TestFolder folder;
  EXPECT_THAT(MessageOf([&] { Sha256OfFile(folder.At("none")); }),
              HasSubstr("/none: cannot be read (No such file"));
  EXPECT_THAT(MessageOf([&] { Sha256OfFile(folder.path()); }), HasSubstr("cannot be read"));
}

// The authors' own test vectors: draft-eastlake-fnv, appendix C.
TEST(Fnv1a, IsThatOfItsAuthors) {
  EXPECT_EQ(Fnv1a(""), "cbf29ce484222325");
  EXPECT_EQ(Fnv1a("a"), "af63dc4c8601ec8c");
  EXPECT_EQ(Fnv1a("foobar"), "85944171f73967e8");
  EXPECT_EQ(Fnv1a("\xff\xfe").size(), 16U);
}

}  // namespace
}  // namespace polykern
