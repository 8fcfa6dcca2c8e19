#include "polykern/net/transport/listen.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"

namespace polykern {
namespace {

using boost::asio::ip::tcp;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string WhyNotListening(const std::string& address, const std::string& who = "") {
  boost::asio::io_context io;
  try {
    ListenOn(io, address, who);
  } catch (const Error& error) {
    return error.what();
  }
  return "it listens";
}

TEST(ListeningOnAnAddress, GetsAFreePortForPortZeroAndSaysWhich) {
  boost::asio::io_context io;
  const tcp::acceptor one = ListenOn(io, "127.0.0.1:0");
  const tcp::acceptor other = ListenOn(io, "localhost:0");
  EXPECT_NE(one.local_endpoint().port(), 0);
  EXPECT_NE(one.local_endpoint().port(), other.local_endpoint().port());
  EXPECT_EQ(AddressOf(one, "127.0.0.1:0"),
            "127.0.0.1:" + std::to_string(one.local_endpoint().port()));
  EXPECT_THAT(AddressOf(other, "localhost:0"), StartsWith("localhost:"));
}

TEST(ListeningOnAnAddress, IsReachedThere) {
  boost::asio::io_context io;
  tcp::acceptor acceptor = ListenOn(io, "127.0.0.1:0");
  tcp::socket caller(io);
  caller.connect(acceptor.local_endpoint());
  EXPECT_EQ(acceptor.accept().remote_endpoint(), caller.local_endpoint());
}

TEST(ListeningOnAnAddress, TakesOneOfVersion6InBrackets) {
  boost::asio::io_context io;
  boost::system::error_code error;
  tcp::socket probe(io);
  probe.open(tcp::v6(), error);
  if (!error) probe.bind({boost::asio::ip::address_v6::loopback(), 0}, error);
  if (error) GTEST_SKIP() << "this machine has no IPv6";
  const tcp::acceptor acceptor = ListenOn(io, "[::1]:0");
  EXPECT_TRUE(acceptor.local_endpoint().address().is_v6());
  EXPECT_THAT(AddressOf(acceptor, "[::1]:0"), StartsWith("[::1]:"));
}

TEST(ListeningOnAnAddress, MayBeginAgainAtOnceWhereAnotherHasEnded) {
  boost::asio::io_context io;
  std::string address;
  {
    tcp::acceptor acceptor = ListenOn(io, "127.0.0.1:0");
    address = AddressOf(acceptor, "127.0.0.1:0");
    tcp::socket caller(io);
    caller.connect(acceptor.local_endpoint());
    acceptor.accept().close();  // the connection lingers in the system for a while
  }
  EXPECT_EQ(WhyNotListening(address), "it listens");
}

TEST(ListeningOnAnAddress, ThatIsTakenIsRefusedWithWhatToDo) {
  boost::asio::io_context io;
  const tcp::acceptor first = ListenOn(io, "127.0.0.1:0");
  const std::string address = AddressOf(first, "127.0.0.1:0");
  EXPECT_EQ(WhyNotListening(address), "cannot listen on " + address +
                                          "; another program listens there; end it, or choose "
                                          "another port");
  EXPECT_THAT(WhyNotListening(address, "the page"), StartsWith("the page cannot listen on "));
}

TEST(ListeningOnAnAddress, ThatIsNotOfThisMachineIsRefused) {
  for (const std::string address : {"192.0.2.1:0", "127.0.0.1:no-such-service", "1.2.3.4.5:0"}) {
    EXPECT_THAT(WhyNotListening(address), AllOf(StartsWith("cannot listen on " + address + "; "),
                                                EndsWith("is it an address of this machine?")));
  }
}

}  // namespace
}  // namespace polykern
