#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/net/byte_buffer_internal.h"

namespace polykern {
namespace {

TEST(AByteBuffer, GivesBackTheBytesOfAllItsSlices) {
  std::string whole;
  std::vector<grpc::Slice> slices;
  for (const std::size_t size : {0U, 1U, 7U, 100U, 0U, 5000U}) {
    const std::string part(size, static_cast<char>('a' + slices.size()));
    slices.emplace_back(part);
    whole += part;
  }
  grpc::ByteBuffer buffer(slices.data(), slices.size());
  EXPECT_EQ(TakeBytes(buffer), whole);
  EXPECT_EQ(TakeBytes(buffer), "");  // taken once
}

TEST(AByteBuffer, SharesItsBytesAndFreesThemWithTheLastOne) {
  const std::string text = std::string(300, 'x') + '\0' + "y";
  auto bytes = std::make_shared<const std::string>(text);
  const std::weak_ptr<const std::string> watched = bytes;
  const char* const where = bytes->data();
  {
    grpc::ByteBuffer one = ShareBytes(bytes);
    grpc::ByteBuffer two = ShareBytes(bytes);
    bytes.reset();
    std::vector<grpc::Slice> slices;
    ASSERT_TRUE(one.Dump(&slices).ok());
    ASSERT_EQ(slices.size(), 1U);
    EXPECT_EQ(reinterpret_cast<const char*>(slices[0].begin()), where);  // not copied
    slices.clear();
    EXPECT_EQ(TakeBytes(one), text);
    EXPECT_FALSE(watched.expired());
    EXPECT_EQ(TakeBytes(two), text);
  }
  EXPECT_TRUE(watched.expired());
}

TEST(AByteBuffer, OfNoBytesGivesNone) {
  grpc::ByteBuffer buffer = ShareBytes(std::make_shared<const std::string>());
  EXPECT_EQ(TakeBytes(buffer), "");
}

}  // namespace
}  // namespace polykern
