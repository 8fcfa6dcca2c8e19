#include "polykern/net/server/web_server.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "polykern/io/files.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/pki/authority.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using PageJson = nlohmann::json;

ClientView PageClient(std::uint64_t number, bool connected, bool awaited, bool gone) {
  ClientView client;
  client.name = "c" + std::to_string(number);
  client.number = number;
  client.connected = connected;
  client.awaited = awaited;
  client.gone = gone;
  client.program = connected ? "0.1.0" : "0.0.9";
  return client;
}

TEST(ClientsOfThePage, AreCountedByHowTheyAre) {
  const auto page = PageJson::parse(
      ClientsForPage({PageClient(0, true, true, false), PageClient(1, true, false, false),
                      PageClient(2, false, true, false), PageClient(3, false, true, true),
                      PageClient(4, true, true, false)}));
  EXPECT_EQ(page.at("counts"),
            PageJson::parse(R"({"connected": 2, "silent": 1, "away": 1, "gone": 1})"));
  EXPECT_EQ(page.at("versions"), PageJson::parse(R"([{"version": "0.1.0", "clients": 3}])"));
  EXPECT_EQ(page.at("shown").size(), 5U);
  EXPECT_EQ(page.at("shown")[1].at("name"), "c1");
  EXPECT_EQ(page.at("shown")[1].at("silent"), true);
}

TEST(ClientsOfThePage, AreAThousandAtMostAndThoseWhoKeepOthersWaitingAreAmongThem) {
  std::vector<ClientView> clients;
  for (std::uint64_t k = 0; k < 5000; ++k) {
    clients.push_back(PageClient(k, k != 4999 && k % 2 == 0, k != 4000, k == 4999));
  }
  const auto page = PageJson::parse(ClientsForPage(clients));
  ASSERT_EQ(page.at("shown").size(), 1000U);
  EXPECT_EQ(page.at("shown")[0].at("name"), "c4000");
  EXPECT_EQ(page.at("shown")[1].at("name"), "c0");
  EXPECT_EQ(page.at("counts").at("away"), 2499);
  EXPECT_EQ(page.at("counts").at("gone"), 1);
}

class AWebServer : public testing::Test {
 protected:
  AWebServer() {
    InitOptions init;
    init.hosts = {"127.0.0.1"};
    InitAuthority(folder_.At("pki"), init);
    options_.listen = "0";
    options_.token = folder_.At("token");
  }
  std::string Serve() {
    const WebServer server(options_, folder_.At("pki"), "",
                           {[] { return ServerView(); }, [] { return std::vector<ClientView>(); }},
                           [](const std::string&) {});
    return server.address();
  }

  TestFolder folder_;
  WebOptions options_;
};

TEST_F(AWebServer, MakesATokenThatCannotBeGuessedForItsOwnerAlone) {
  EXPECT_THAT(Serve(), StartsWith("127.0.0.1:"));
  const std::string token = ReadWholeFile(options_.token);
  EXPECT_EQ(token.size(), 41U);
  EXPECT_EQ(ReadableByOthers(options_.token), "");
  Serve();
  EXPECT_EQ(ReadWholeFile(options_.token), token);
  ReplaceFile(options_.token, "", FileMode::kSecret);
  for (const char* bad : {"", "\n", "short", "sixteen letters and blanks"}) {
    ReplaceFile(options_.token, bad, FileMode::kSecret);
    EXPECT_THAT(MessageOf([&] { Serve(); }), HasSubstr("a token is one word of at least 16"));
  }
}

TEST_F(AWebServer, NamesWhatItCannotListenOnOrRead) {
  options_.listen = "127.0.0.1:99999";
  EXPECT_EQ(MessageOf([&] { Serve(); }),
            "web=127.0.0.1:99999: not of the form HOST:PORT, port 0 to 65535");
  options_.listen = "0";
  ReplaceFile(folder_.At("pki/server.key"), "no key", FileMode::kSecret);
  EXPECT_THAT(MessageOf([&] { Serve(); }), HasSubstr("server.key: contains no readable"));
}

}  // namespace
}  // namespace polykern
