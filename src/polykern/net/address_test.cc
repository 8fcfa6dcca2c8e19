#include "polykern/net/address.h"

#include <gmock/gmock.h>

#include "polykern/core/error.h"

namespace polykern {
namespace {

TEST(Address, AServerWithoutAPortIsAskedWhereServersListen) {
  EXPECT_EQ(WithPort("localhost"), "localhost:7433");
  EXPECT_EQ(WithPort("192.0.2.7"), "192.0.2.7:7433");
  EXPECT_EQ(WithPort("::1"), "[::1]:7433");
  EXPECT_EQ(WithPort("2001:db8::7"), "[2001:db8::7]:7433");
  EXPECT_EQ(WithPort("[::1]"), "[::1]:7433");
}

TEST(Address, APortThatIsThereStays) {
  for (const char* server : {"localhost:1", "192.0.2.7:65535", "[::1]:7434"}) {
    EXPECT_EQ(WithPort(server), server);
  }
}

TEST(Address, APortThatIsNoneIsRefused) {
  for (const char* server : {"", ":7433", "localhost:", "localhost:abc", "localhost:65536", "a:-1",
                             "a:000001", "[::1]:", "[::1]:x"}) {
    EXPECT_THROW(WithPort(server), Error) << server;
  }
}

}  // namespace
}  // namespace polykern
