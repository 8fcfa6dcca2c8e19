// A server's end of masked sums, with a helper on the loopback.
#include "polykern/net/helper/helper_opener.h"

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "polykern/net/helper/helper_server_testing.h"
#include "polykern/net/mask_key_wire.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kOpenedNumbers = 20;

class AnOpener : public AHelper {
 protected:
  AnOpener() {
    link_options.noise = {
        .epsilon = 1, .releases = 8, .numbers = kOpenedNumbers, .ring = {64, 0x1p-16}};
    clients.emplace(kClients, PublicKeyOf(ReadMaskKey(
                                  ReadWholeFile(options.certificates + "/mask.key"), "mask.key")));
    clients->below = 1 << 20;
    AHelper::Start();
    StartServer({});
  }

  /// With what the server's store has of the sums so far.
  void StartServer(const std::vector<double>& stored) {
    opener.reset();
    opener.emplace(link_options, link_options.noise.ring);
    if (!stored.empty()) opener->Load(stored);
    for (const std::string& name : kClients) opener->AddKey(name, Encode(KeyOf(name)));
    while (opener->ClientsNeed().empty()) std::this_thread::yield();
  }
  /// The sum of all clients' messages for a step.
  Release Closed(std::uint64_t number, std::uint64_t step) {
    ReleaseRequest request = TestRequest(number, 0, kOpenedNumbers);
    request.ring = link_options.noise.ring;
    request.noise = link_options.noise;
    clients->Clear();
    Release release{.number = number, .messages = kClients.size()};
    for (const std::string& name : kClients) clients->Send(name, step, 40, request);
    for (const NamedContribution& each : request.messages) {
      release.contributions.push_back({release.contributions.size(), each.step, each.releases,
                                       each.count, each.new_unknowns, each.nonce});
    }
    release.sums.assign(clients->masked.begin(), clients->masked.end());
    return release;
  }
  Release Opened(Release release) {
    const std::vector<std::string> names(kClients.begin(), kClients.end());
    while (!opener->Open(release, names).empty()) std::this_thread::yield();
    return release;
  }
  /// Nothing comes out, and nothing is spent.
  void ExpectForgotten(const Release& closed, const std::string& why) {
    const std::uint64_t answered = helper->counts().answered;
    const Release opened = Opened(closed);
    EXPECT_THAT(opened.refusal, HasSubstr("the server's store was restored from a backup: " + why));
    EXPECT_THAT(opened.refusal, HasSubstr("put back the store from before"));
    EXPECT_THAT(opened.estimate, IsEmpty());
    EXPECT_TRUE(opened.number_taken);
    EXPECT_EQ(opener->status().trouble, opened.refusal);
    EXPECT_EQ(helper->counts().answered, answered);
  }

  std::optional<HelperOpener> opener;
};

TEST_F(AnOpener, AddsNoiseToWhatItOpens) {
  for (std::uint64_t number = 0; number < 3; ++number) {
    const Release opened = Opened(Closed(number, number));
    EXPECT_THAT(opened.refusal, IsEmpty());
    ASSERT_EQ(opened.estimate.size(), kOpenedNumbers);
    EXPECT_EQ(opener->status().noise->releases, number + 1);
    if (number > 0) continue;
    for (std::size_t i = 0; i < kOpenedNumbers; ++i) {
      EXPECT_NEAR(opened.estimate[i], static_cast<double>(clients->plain[i]) * 0x1p-16,
                  12 * opened.deviation);
    }
  }
}

TEST_F(AnOpener, GetsTheAnswerThatWasNotWritten) {
  Opened(Closed(0, 0));
  const std::vector<double> stored = opener->Save();
  const Release closed = Closed(1, 1);
  const Release opened = Opened(closed);
  StartServer(stored);  // killed before it had written
  EXPECT_EQ(Opened(closed).estimate, opened.estimate);
  EXPECT_THAT(opener->status().trouble, IsEmpty());
}

TEST_F(AnOpener, SaysWhatIsLostWhenItsStoreIsRestored) {
  Opened(Closed(0, 0));
  const std::vector<double> one = opener->Save();
  Opened(Closed(1, 1));
  const std::vector<double> two = opener->Save();
  Opened(Closed(2, 2));
  StartServer(one);
  for (std::uint64_t number = 1; number < 5; ++number) {
    ExpectForgotten(Closed(number, 2 + number),
                    "it knows of 1 noisy sums, the helper has answered 3");
  }
  for (std::uint64_t number = 2; number < 5; ++number) {
    StartServer(two);  // also when it is started again in between
    ExpectForgotten(Closed(number, 2 + number),
                    "it knows of 2 noisy sums, the helper has answered 3");
  }
}

TEST_F(AnOpener, ResumesFromABackupThatNoSumHasFollowed) {
  Opened(Closed(0, 0));
  StartServer(opener->Save());
  EXPECT_THAT(Opened(Closed(1, 1)).refusal, IsEmpty());
  EXPECT_THAT(opener->status().trouble, IsEmpty());
}

}  // namespace
}  // namespace polykern
