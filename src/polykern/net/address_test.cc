#include "polykern/net/address.h"

#include <string>

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

TEST(Address, HasAPortOnlyIfItEndsWithOne) {
  for (const char* address : {"a:0", "a:65535", "[::1]:80", "::1", "a:00080", ":1"}) {
    EXPECT_TRUE(HasPort(address)) << address;
  }
  for (const char* address : {"", "a", "80", "a:", "a:65536", "a:99999", "a:100000", "a:-1", "a:+1",
                              "a: 1", "a:1 ", "a:0x1", "a:\xd9\xa1", "[::1]", "a:1.0"}) {
    EXPECT_FALSE(HasPort(address)) << address;
  }
}

TEST(Address, OfAnyHostKeepsEveryPortThereIs) {
  for (int port = 0; port <= 65535; port += 13) {
    for (const char* host : {"localhost", "192.0.2.7", "[2001:db8::7]"}) {
      const std::string address = std::string(host) + ":" + std::to_string(port);
      ASSERT_TRUE(HasPort(address));
      ASSERT_EQ(WithPort(address), address);
    }
  }
}

TEST(Address, ThatIsRefusedIsShownAsItWasTyped) {
  for (const char* server : {":7433", "localhost:abc", "[::1]:70000", "http://localhost:7433",
                             "https://localhost", "localhost:7433/"}) {
    EXPECT_THAT([&] { WithPort(server); },
                testing::ThrowsMessage<Error>(std::string("server=") + server +
                                              ": not of the form HOST:PORT, port 0 to 65535"));
  }
}

TEST(Servers, MayBeSeveral) {
  EXPECT_EQ(ServersIn("a:1"), std::vector<std::string>{"a:1"});
  EXPECT_EQ(ServersIn("a:1,b:2"), (std::vector<std::string>{"a:1", "b:2"}));
  EXPECT_EQ(WithPorts("a,b:2,::1"), "a:7433,b:2,[::1]:7433");
  EXPECT_THROW(WithPorts("a,b:x"), Error);
  EXPECT_THROW(WithPorts("a,,b:1"), Error);
}

TEST(Address, ToListenOnHasAPort) {
  for (const char* good : {"127.0.0.1:0", "0.0.0.0:7433", "[::]:65535", "localhost:1"}) {
    EXPECT_NO_THROW(CheckListen(good)) << good;
  }
  for (const char* bad : {"", "localhost", "localhost:", "localhost:65536", "a:b", "[::1]"}) {
    EXPECT_THAT([&] { CheckListen(bad); },
                testing::ThrowsMessage<Error>(testing::HasSubstr("not of the form HOST:PORT")))
        << bad;
  }
}

TEST(Address, WithoutCertificatesIsOfTheLoopback) {
  for (const char* good : {"127.0.0.1:0", "127.9.8.7:1", "localhost:0", "[::1]:0"}) {
    EXPECT_NO_THROW(CheckListen(good, true)) << good;
  }
  for (const char* bad : {"0.0.0.0:0", "[::]:0", "192.0.2.1:1", "128.0.0.1:0", "127.example.org:1",
                          "localhost.example.org:1", ":1", "[::2]:1"}) {
    EXPECT_NO_THROW(CheckListen(bad)) << bad;
    EXPECT_THAT([&] { CheckListen(bad, true); },
                testing::ThrowsMessage<Error>(testing::HasSubstr("listens on the loopback only")))
        << bad;
  }
}

}  // namespace
}  // namespace polykern
