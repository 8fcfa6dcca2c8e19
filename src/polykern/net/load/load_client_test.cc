#include <chrono>
#include <ctime>
#include <mutex>
#include <string>

#include <gmock/gmock.h>

#include "polykern/net/agent/federation_testing.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/load/load_client_internal.h"
#include "polykern/net/pki/client_identity.h"

namespace polykern {
namespace {

using testing::HasSubstr;

/// One client of a load beside a real server.
class LoadClientOverTls : public testing::Test {
 protected:
  LoadClientOverTls() { federation.Start(); }

  ClientIdentity Identity() const {
    return MakeClientIdentities(federation.pki(), "c", 1, std::time(nullptr)).front();
  }
  /// Waits for something that changes with the clients' news.
  template <typename Condition>
  bool Eventually(Condition holds) {
    std::unique_lock lock(shared.mutex);
    shared.waiting = true;
    return shared.changed.wait_for(lock, std::chrono::minutes(1), holds);
  }
  /// It must not be destroyed before.
  void End(LoadClient& client) {
    client.Cancel();
    EXPECT_TRUE(Eventually([this] { return shared.ended == 1; }));
  }

  TestFederation federation;
  LoadShared shared;
  Loop loop{std::chrono::milliseconds(50)};
};

TEST_F(LoadClientOverTls, AnswersEveryModel) {
  LoadClient client(loop, federation.address(), Identity(), 1, shared);
  client.Measure(true);
  client.Begin();
  EXPECT_TRUE(Eventually([&] { return client.step() >= 3; }));
  const LoadFigures figures = client.figures();
  EXPECT_GE(figures.updates, 3U);
  EXPECT_EQ(figures.latencies.size(), figures.updates);
  EXPECT_GT(figures.sent_bytes, 0U);
  EXPECT_GT(figures.received_bytes, 0U);
  EXPECT_EQ(figures.rejected, 0U);
  EXPECT_EQ(shared.welcomed, 1U);
  EXPECT_EQ(shared.configuration.problem.dimension, 3U);
  End(client);
  EXPECT_EQ(shared.failure, "");  // to be cancelled is not to fail
}

TEST_F(LoadClientOverTls, CountsNothingBeforeItIsAsked) {
  LoadClient client(loop, federation.address(), Identity(), 1, shared);
  client.Begin();
  EXPECT_TRUE(Eventually([&] { return client.step() >= 2; }));
  EXPECT_EQ(client.figures().updates, 0U);
  End(client);
}

TEST_F(LoadClientOverTls, TellsWhyItFailed) {
  const std::string address = federation.address();
  const ClientIdentity identity = Identity();
  federation.Stop();
  LoadClient client(loop, address, identity, 1, shared);
  client.Begin();
  EXPECT_TRUE(Eventually([this] { return shared.ended == 1; }));
  const std::lock_guard lock(shared.mutex);
  EXPECT_THAT(MessageOf([this] { shared.CheckLocked(); }), HasSubstr("a client of the load: "));
}

TEST(WhatClientsOfALoadShare, IsTheFirstFailureAndTheFirstAlgorithm) {
  LoadShared shared;
  shared.CheckLocked();
  FederationConfiguration configuration;
  configuration.options.kernels = 4;
  configuration.options.features = 2;
  configuration.problem = {3, 100, 1};
  const Algorithm& first = shared.AlgorithmOf(ToTexts(configuration));
  EXPECT_EQ(&shared.AlgorithmOf(ToTexts(configuration)), &first);
  EXPECT_EQ(shared.configuration.problem.dimension, 3U);
  shared.ended = 1;
  EXPECT_EQ(MessageOf([&] { shared.CheckLocked(); }), "the server ended a connection");
  shared.Fail("first");
  shared.Fail("second");
  EXPECT_EQ(MessageOf([&] { shared.CheckLocked(); }), "a client of the load: first");
}

}  // namespace
}  // namespace polykern
