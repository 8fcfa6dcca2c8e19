#include "polykern/net/load.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"
#include "polykern/net/authority.h"
#include "polykern/net/certificates.h"
#include "polykern/net/private_files.h"
#include "polykern/net/rounds.h"
#include "polykern/net/server.h"
#include "polykern/test_folder-inl.h"

namespace polykern {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(Percentiles, AreTheSmallestNumberWithThatShareAtOrBelowIt) {
  const std::vector<double> ten = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_EQ(Percentile(ten, 0.5), 5);
  EXPECT_EQ(Percentile(ten, 0.51), 6);
  EXPECT_EQ(Percentile(ten, 0.99), 10);
  EXPECT_EQ(Percentile(ten, 0), 1);
  EXPECT_EQ(Percentile(ten, 1), 10);
  EXPECT_EQ(Percentile({}, 0.5), 0);
}

/// A server with an authority of its own, for as many clients as a test likes.
class ALoad : public testing::Test {
 protected:
  ALoad() {
    InitOptions init;
    init.hosts = {"127.0.0.1"};
    InitAuthority(folder_.At("pki"), init);
    server_options_.listen = "127.0.0.1:0";
    server_options_.certificates = folder_.At("pki");
    configuration_.options.kernels = 4;
    configuration_.options.features = 2;
    configuration_.problem = {3, 100, 1};
  }

  void Start() {
    algorithm_ = MakeAlgorithm(configuration_);
    store_.emplace(folder_.At("store.db"), ToTexts(configuration_));
    rounds_.emplace(*algorithm_, ToTexts(configuration_), *store_, rounds_options_);
    server_.emplace(server_options_, algorithm_->shape(), *rounds_);
  }

  LoadOptions For(std::size_t clients) const {
    const AuthorityPaths paths(folder_.At("pki"));
    const KeyPair authority{ReadWholeFile(paths.certificate), ReadWholeFile(paths.key)};
    const std::int64_t now = std::time(nullptr);
    LoadOptions load;
    load.server = server_->address();
    load.patience = milliseconds(20'000);
    for (std::size_t k = 0; k < clients; ++k) {
      const std::string key = MakeKey();
      load.identities.push_back(
          {authority.certificate,
           MakeClientCertificate(authority, key, "c" + std::to_string(k), {now - 60, now + 3600}),
           key});
    }
    return load;
  }

  TestFolder folder_;
  ServerOptions server_options_;
  RoundsOptions rounds_options_;
  FederationConfiguration configuration_;
  std::unique_ptr<Algorithm> algorithm_;
  std::optional<Store> store_;
  std::optional<Rounds> rounds_;
  std::optional<FederationServer> server_;
};

TEST_F(ALoad, CountsWhatTheServerCounts) {
  rounds_options_.quorum.count = 5;
  Start();
  {
    Load load(For(5));
    EXPECT_EQ(rounds_->status().connected, 5U);
    load.WaitForSteps(3);
    EXPECT_GE(rounds_->status().step, 3U);
    const LoadFigures figures = load.Measure(milliseconds(300));
    EXPECT_GE(figures.seconds, 0.3);
    EXPECT_GT(figures.steps, 0U);
    EXPECT_LE(figures.updates, rounds_->status().accepted);
    EXPECT_GE(figures.updates + 5, 5 * (figures.steps - 1));
    EXPECT_EQ(figures.latencies.size(), figures.updates);
    EXPECT_TRUE(std::ranges::is_sorted(figures.latencies));
    EXPECT_EQ(figures.rejected, 0U);
    // One kernel of 4 floats, and little else.
    EXPECT_GT(figures.sent_bytes, 16 * figures.updates);
    EXPECT_LT(figures.sent_bytes, 64 * figures.updates);
  }
  const RoundsStatus status = rounds_->status();
  EXPECT_EQ(status.rejected + status.late + status.duplicates, 0U);
}

TEST_F(ALoad, SaysWhenThereIsNoRoom) {
  rounds_options_.most_connected = 2;
  Start();
  EXPECT_THAT(MessageOf([&] { const Load load(For(3)); }), HasSubstr("as many clients"));
}

TEST_F(ALoad, SaysWhenNobodyAnswers) {
  Start();
  LoadOptions load = For(1);
  server_.reset();
  EXPECT_THAT(MessageOf([&] { const Load nobody(load); }), HasSubstr("a client of the load"));
}

}  // namespace
}  // namespace polykern
