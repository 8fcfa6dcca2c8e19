#include "polykern/net/server/hosted_server.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/io/folder_testing.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/store_kinds/open_store.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class AHostedServer : public testing::Test {
 protected:
  AHostedServer() {
    options_.federation.options.kernels = 4;
    options_.federation.options.features = 2;
    options_.federation.problem = {3, 100, 1};
    options_.store = folder_.At("store.db");
    options_.server.listen = "127.0.0.1:0";
    options_.server.insecure = true;
    options_.rounds.roster = {"a", "b"};
  }

  TestFolder folder_;
  HostedServerOptions options_;
};

TEST_F(AHostedServer, ListensAndIsSeen) {
  options_.version = "1.2";
  options_.metrics = "0";
  const HostedServer server(options_);
  EXPECT_THAT(server.address(), StartsWith("127.0.0.1:"));
  EXPECT_THAT(server.metrics_address(), StartsWith("127.0.0.1:"));
  const ServerView view = server.View();
  EXPECT_EQ(view.algorithm, options_.federation.algorithm);
  EXPECT_EQ(view.version, "1.2");
  EXPECT_EQ(view.rounds.enrolled, 2U);
  EXPECT_EQ(view.trouble, "");
  EXPECT_GE(view.uptime_seconds, 0);
}

TEST_F(AHostedServer, ResumesFromItsStore) {
  { const HostedServer server(options_); }
  EXPECT_EQ(ReadStore(options_.store).clients.size(), 2U);
  EXPECT_EQ(ReadStore(options_.store).configuration, ToTexts(options_.federation));
  options_.rounds.roster = {"b", "a"};
  EXPECT_THAT(MessageOf([&] { const HostedServer server(options_); }),
              HasSubstr("client 0 of the store is 'a'"));
  options_.rounds.roster = {};
  EXPECT_EQ(HostedServer(options_).View().rounds.enrolled, 2U);
}

TEST_F(AHostedServer, NeedsNoDiskInATrial) {
  options_.store = "memory:";
  EXPECT_EQ(HostedServer(options_).metrics_address(), "");
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(AHostedServer, DoesNotShowItsPageToStrangers) {
  options_.web.listen = "0";
  EXPECT_THAT(MessageOf([&] { const HostedServer server(options_); }),
              HasSubstr("web needs certificates"));
  options_.web.listen = "";
  options_.web.token = folder_.At("token");
  EXPECT_THAT(MessageOf([&] { const HostedServer server(options_); }),
              HasSubstr("web_token has no effect without web"));
  EXPECT_FALSE(std::filesystem::exists(options_.store));
}

TEST_F(AHostedServer, MakesNoStoreWhereItCannotListen) {
  options_.server.listen = "0.0.0.0:0";
  EXPECT_THAT(MessageOf([&] { const HostedServer server(options_); }), HasSubstr("loopback only"));
  EXPECT_FALSE(std::filesystem::exists(options_.store));
}

}  // namespace
}  // namespace polykern
