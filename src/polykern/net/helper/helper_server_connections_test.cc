// With whom a helper speaks, and what ends a connection.

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "polykern/core/error.h"
#include "polykern/io/files.h"
#include "polykern/io/folder_testing.h"
#include "polykern/net/helper/helper_link.h"
#include "polykern/net/helper/helper_server.h"
#include "polykern/net/helper/helper_server_testing.h"
#include "polykern/net/helper/helper_testing.h"
#include "polykern/net/helper/helper_wire.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/transport/client_stream.h"

namespace polykern {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::HasSubstr;

TEST_F(AHelper, TellsAServerOfAnotherFederationOrOlderEpoch) {
  Start();
  link_options.epoch = 3;
  {
    HelperLink link(link_options);
    Meet(link);
    ReleaseRequest request = TestRequest(0, 0, 20, 3);
    for (const std::string& name : kClients) clients->Send(name, 0, 50, request);
    ASSERT_EQ(link.Ask(request, kEver).kind, HelperReply::Kind::kAnswered);
  }
  const auto trouble = [this] {
    HelperLink link(link_options);
    while (link.trouble().find("away") == std::string::npos) std::this_thread::yield();
    return link.trouble();
  };
  link_options.epoch = 2;
  EXPECT_THAT(trouble(), HasSubstr("epoch 2 is over"));
  link_options.epoch = 3;
  link_options.federation = "another";
  EXPECT_THAT(trouble(), HasSubstr("belongs to another federation"));
  link_options.federation = kTestFederation;
  HelperLink link(link_options);
  EXPECT_EQ(link.WaitForHelper(kEver)->releases, 1U);
}

/// Everybody else of the federation has a certificate, too.
TEST_F(AHelper, LetsNobodyInButTheServer) {
  Start();
  IssueClient(pki, "a", {});
  const std::string authority = ReadWholeFile(pki + "/ca.crt");
  for (const std::string& own :
       {pki + "/clients/a/client", pki + "/helpers/" + kTestHelper + "/helper"}) {
    ClientStreamOptions calling = Calling();
    calling.tls = MakeClientTls({.authority = authority,
                                 .certificate = ReadWholeFile(own + ".crt"),
                                 .key = ReadWholeFile(own + ".key")},
                                Role::kHelper);
    Caller caller(calling);
    caller.Begin(Encode(HelperHello{.federation = kTestFederation}));
    EXPECT_FALSE(caller.Next()) << own;
  }
  Caller plain(Calling());  // nor without TLS
  plain.Begin(Encode(HelperHello{.federation = kTestFederation}));
  EXPECT_FALSE(plain.Next());
}

/// It is noticed before anybody asks; what a server makes of one that starts all the same is in
/// helper_link_test.cc.
TEST_F(AHelper, DoesNotStartWithTheCertificateOfAnotherRole) {
  IssueClient(pki, "a", {});
  for (const std::string& own : {pki + "/server", pki + "/clients/a/client"}) {
    for (const char* ending : {".crt", ".key"}) {
      fs::copy_file(own + ending, options.certificates + "/helper" + ending,
                    fs::copy_options::overwrite_existing);
    }
    EXPECT_THAT(MessageOf([this] { Start(); }), HasSubstr("helper")) << own;
  }
}

TEST_F(AHelper, IsOfNoUseOnceItIsRevoked) {
  Start();
  RevokeClient(pki, kTestHelper);
  HelperLink link(link_options);
  EXPECT_FALSE(link.WaitForHelper(milliseconds(100)));
  while (link.trouble().find("away") == std::string::npos) std::this_thread::yield();
  EXPECT_THAT(link.trouble(), HasSubstr("revoked"));
}

TEST_F(AHelper, EndsConnectionsThatBreakTheRules) {
  options.insecure = true;
  Start();
  const std::string hello = Encode(HelperHello{.federation = kTestFederation});
  const auto ending = [&](const std::string& first, const std::string& second) {
    Caller caller(Calling());
    caller.Begin(first);
    if (!second.empty() && caller.Next()) caller.Send(second);
    return caller.End();
  };
  EXPECT_THAT(ending("garbage \xff\xff", "").reason, HasSubstr("not a valid message"));
  EXPECT_THAT(ending(hello, std::string(1000, '\x93')).reason, HasSubstr("not a valid message"));
  EXPECT_THAT(ending(hello, hello).reason, HasSubstr("second hello"));
  HelperQuestion early{.id = 1, .release = TestRequest(0)};
  EXPECT_THAT(ending(Encode(early), "").reason, HasSubstr("before the hello"));
  EXPECT_THAT(ending(Encode(HelperKeys{.id = 1}), "").reason, HasSubstr("before the hello"));
  // It may still be writing when the connection ends.
  EXPECT_THAT(ending(hello, std::string(LongestToHelper(kClients.size()) + 1, 'x')).reason,
              testing::AnyOf(HasSubstr("a message of more than"), HasSubstr("connection was cut")));
  const Ending old = ending(Encode(HelperHello{.version = 9, .federation = kTestFederation}), "");
  EXPECT_EQ(old.kind, Ending::Kind::kVersion);
  EXPECT_THAT(old.reason, HasSubstr("update the older one"));
  ClientStreamOptions wrong = Calling();
  wrong.target = kJoinTarget;  // an agent that was given the helper's address
  Caller agent(wrong);
  agent.Begin(hello);
  EXPECT_EQ(agent.End().kind, Ending::Kind::kNotOurs);
  HelperLink link(link_options);  // nobody else has suffered
  link_options.insecure = true;
  HelperLink good(link_options);
  EXPECT_TRUE(good.WaitForHelper(kEver));
}

TEST_F(AHelper, HasRoomForFewConnections) {
  options.insecure = true;
  options.hello_time = milliseconds(100);
  Start();
  std::vector<std::unique_ptr<Caller>> callers;
  for (int n = 0; n < 6; ++n) {
    callers.push_back(std::make_unique<Caller>(Calling()));
    callers.back()->Begin(Encode(HelperHello{.federation = kTestFederation}));
    ASSERT_TRUE(callers.back()->Next());
  }
  EXPECT_FALSE(callers[0]->Next());  // the oldest made way
  EXPECT_FALSE(callers[1]->Next());
  HelperQuestion question{.id = 77, .release = TestRequest(0)};
  callers[5]->Send(Encode(question));
  EXPECT_TRUE(callers[5]->Next());
}

TEST_F(AHelper, WorksWithoutCertificatesOnTheLoopback) {
  options.insecure = true;
  link_options.insecure = true;
  Start();
  ReleaseRequest second;
  {
    HelperLink link(link_options);
    Meet(link);
    EXPECT_EQ(clients->Unmasked(link.Ask(Good(0), kEver)), clients->plain);
    second = Good(1);
  }
  helper.reset();
  Start();  // its mask key is the same
  HelperLink link(link_options);
  EXPECT_EQ(clients->Unmasked(link.Ask(second, kEver)), clients->plain);
  options.listen = "0.0.0.0:0";
  options.log = folder.At("other.db");
  EXPECT_THAT(MessageOf([&] { HelperServer(options, nullptr); }), HasSubstr("loopback only"));
}

}  // namespace
}  // namespace polykern
