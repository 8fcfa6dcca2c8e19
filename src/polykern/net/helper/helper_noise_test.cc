// What a helper does where noise was promised.
#include "polykern/net/helper/helper_noise.h"

#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/io/folder_testing.h"
#include "polykern/net/helper/helper_testing.h"
#include "polykern/privacy/noisy_releases.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::set<std::string> kFourNoisy = {"a", "b", "c", "d"};
constexpr std::size_t kNoisyNumbers = 400;

NoiseTerms TestTerms(std::size_t releases = 3) {
  return {.epsilon = 1,
          .delta = 1e-6,
          .releases = releases,
          .samples_per_event = 1,
          .numbers = kNoisyNumbers,
          .ring = {64, 0x1p-16}};
}

class ANoisyLedger : public testing::Test {
 protected:
  ANoisyLedger() { Open(); }

  /// As after a restart, with what is on the disk.
  void Open() {
    ledger.reset();
    file.reset();
    file = OpenHelperLog(folder.At("helper.db"));
    ledger.emplace(rules, kTestHelper, helper.secret, *file);
  }

  ReleaseRequest Good(std::uint64_t number, std::uint64_t step, NoiseTerms terms = TestTerms(),
                      std::uint64_t epoch = 1) {
    ReleaseRequest request = TestRequest(number, 0, kNoisyNumbers, epoch);
    request.ring = terms.ring;
    request.noise = terms;
    clients.Clear();
    for (const std::string& name : kFourNoisy) clients.Send(name, step, 20, request);
    return request;
  }
  HelperReply Ask(const ReleaseRequest& request) {
    if (request.noise.noisy()) ledger->Use(std::make_unique<HelperNoise>(request.noise));
    return ledger->Release(request, clients);
  }
  void ExpectNoisyRefusal(const ReleaseRequest& request, const std::string& why,
                          HelperReply::Kind kind = HelperReply::Kind::kRefused) {
    const HelperReply reply = Ask(request);
    EXPECT_EQ(reply.kind, kind);
    EXPECT_THAT(reply.reason, HasSubstr(why));
    EXPECT_THAT(reply.streams, IsEmpty());
  }

  TestFolder folder;
  HelperRules rules{.clients = kFourNoisy, .least_clients = 2};
  const MaskKeys helper = MakeMaskKeys();
  MaskingClients clients{kFourNoisy, helper.open};
  std::unique_ptr<HelperLog> file;
  std::optional<HelperLedger> ledger;
};

/// What a server makes of masked sums and the helper's answers, beside the truth.
class NoisyServerSide {
 public:
  explicit NoisyServerSide(const NoiseTerms& terms) : releases_(terms), truth_(terms.numbers) {}

  /// The mean square of all errors of the running sums, in deviations; large if masks are left.
  double Take(const MaskingClients& clients, const HelperReply& reply) {
    std::vector<std::uint64_t> added = reply.streams;
    for (std::uint64_t& number : added) number = -number;
    releases_.Add(std::vector<std::int64_t>(clients.masked.begin(), clients.masked.end()), added);
    Release release;
    releases_.Fill(release);
    double squares = 0;
    for (std::size_t i = 0; i < truth_.size(); ++i) {
      truth_[i] += static_cast<double>(static_cast<std::int64_t>(clients.plain[i])) *
                   releases_.terms().ring.unit;
      const double error = (release.estimate[i] - truth_[i]) / release.deviation;
      squares += error * error / static_cast<double>(truth_.size());
    }
    return squares;
  }

 private:
  NoisyReleases releases_;
  std::vector<double> truth_;
};

// The mean of 400 squares is 1 but for sqrt(2 / 400) of a deviation; eight of them.
constexpr double kEightDeviations = 8 * 0.0708;

TEST_F(ANoisyLedger, TellsNoisySumsAndNothingElse) {
  clients.below = 1 << 20;  // as real sums are: what wraps around cannot be decoded
  NoisyServerSide server(TestTerms());
  for (std::uint64_t number = 0; number < 3; ++number) {
    const HelperReply reply = Ask(Good(number, number));
    ASSERT_EQ(reply.kind, HelperReply::Kind::kAnswered) << reply.reason;
    EXPECT_NE(clients.Unmasked(reply), clients.plain) << "the streams themselves are not told";
    EXPECT_NEAR(server.Take(clients, reply), 1, kEightDeviations);
  }
}

TEST_F(ANoisyLedger, StopsWhenTheBudgetIsSpent) {
  EXPECT_EQ(ledger->EpsilonSpent(), 0);
  double before = 0;
  for (std::uint64_t number = 0; number < 3; ++number) {
    EXPECT_EQ(Ask(Good(number, number)).kind, HelperReply::Kind::kAnswered);
    EXPECT_GT(ledger->EpsilonSpent(), before);
    before = ledger->EpsilonSpent();
    Open();
    EXPECT_EQ(ledger->EpsilonSpent(), before) << "a restart gives nothing back";
  }
  EXPECT_LE(before, 1);
  EXPECT_GT(before, 0.999);
  ExpectNoisyRefusal(Good(3, 3), "all 3 releases are spent");
  Open();
  ExpectNoisyRefusal(Good(4, 4), "all 3 releases are spent");
  EXPECT_EQ(ledger->EpsilonSpent(), before);
}

TEST_F(ANoisyLedger, GivesTheSameAnswerAgainAndDrawsNoOtherNoiseForIt) {
  for (std::uint64_t number = 0; number < 3; ++number) {
    const ReleaseRequest request = Good(number, number);
    const HelperReply reply = Ask(request);
    ASSERT_EQ(reply.kind, HelperReply::Kind::kAnswered);
    EXPECT_EQ(Ask(request).streams, reply.streams);
    Open();  // killed after it had written
    EXPECT_EQ(Ask(request).streams, reply.streams);
    ReleaseRequest other = request;
    other.messages.pop_back();
    ExpectNoisyRefusal(other, "the helper has already made it for another request");
  }
  EXPECT_EQ(file->Contents().streams.size(), 3 * kNoisyNumbers);
}

TEST_F(ANoisyLedger, DrawsNoiseBeforeItIsAsked) {
  const ReleaseRequest request = Good(0, 0);
  const HelperReply early = ledger->Release(request, clients);
  EXPECT_EQ(early.kind, HelperReply::Kind::kLater);
  EXPECT_THAT(early.reason, HasSubstr("has not drawn the noise"));
  EXPECT_EQ(Ask(request).kind, HelperReply::Kind::kAnswered);
  EXPECT_EQ(ledger->Release(Good(1, 1), clients).kind, HelperReply::Kind::kLater)
      << "noise is used once";
}

TEST_F(ANoisyLedger, KeepsToWhatWasPromisedUntilANewEpoch) {
  EXPECT_EQ(Ask(Good(0, 0)).kind, HelperReply::Kind::kAnswered);
  NoiseTerms other = TestTerms();
  const auto refused = [&](const NoiseTerms& terms) {
    ReleaseRequest request = Good(1, 1, terms);
    request.numbers = std::max<std::size_t>(terms.numbers, 1);
    EXPECT_THAT(ledger->Refusal(kTestFederation, 1, terms), HasSubstr("has promised epsilon 1"));
    const HelperReply reply = ledger->Release(request, clients);
    EXPECT_EQ(reply.kind, HelperReply::Kind::kRefused);
    EXPECT_THAT(reply.reason, HasSubstr("start again with a new store"));
  };
  refused({.numbers = kNoisyNumbers, .ring = {64, 0x1p-16}});  // no noise any more
  for (int restart = 0; restart < 2; ++restart, Open()) {
    for (const double epsilon : {0.5, 2.0}) {
      other = TestTerms();
      other.epsilon = epsilon;
      refused(other);
    }
    other = TestTerms();
    other.delta = 1e-5;
    refused(other);
    other = TestTerms(4);
    refused(other);
    other = TestTerms();
    other.samples_per_event = 2;
    refused(other);
    other = TestTerms();
    other.ring.unit = 0x1p-15;
    refused(other);
    other = TestTerms();
    other.numbers = kNoisyNumbers - 1;
    refused(other);
  }
  EXPECT_EQ(Ask(Good(1, 1)).kind, HelperReply::Kind::kAnswered) << "as promised";
  other = TestTerms();
  other.epsilon = 2;
  EXPECT_THAT(ledger->Refusal(kTestFederation, 2, other), IsEmpty());
  EXPECT_EQ(Ask(Good(0, 9, other, 2)).kind, HelperReply::Kind::kAnswered);
  EXPECT_EQ(file->Contents().streams.size(), kNoisyNumbers);
}

TEST_F(ANoisyLedger, AdvisesNoNewEpochWhereThereCanBeNone) {
  ReleaseRequest request = Good(0, 0);
  request.messages[0].releases = 1;  // its log is an older one
  const HelperReply reply = Ask(request);
  EXPECT_EQ(reply.kind, HelperReply::Kind::kRefused);
  EXPECT_THAT(reply.reason, testing::EndsWith("; start again with a new store for the server "
                                              "and another for the helper"));
}

TEST_F(ANoisyLedger, HasOneModeInAnEpoch) {
  ReleaseRequest plain = TestRequest(0, 0, 20, 1);
  for (const std::string& name : kFourNoisy) clients.Send(name, 0, 20, plain);
  EXPECT_EQ(Ask(plain).kind, HelperReply::Kind::kAnswered);
  ExpectNoisyRefusal(Good(1, 1), "has promised no noise");
}

TEST_F(ANoisyLedger, GivesGarbageToAServerThatToldClientsSomethingElse) {
  clients.below = 1 << 20;
  clients.promised = TestTerms();
  NoiseTerms weaker = TestTerms();
  weaker.epsilon = 1000;
  NoisyServerSide server(weaker);
  const HelperReply reply = Ask(Good(0, 0, weaker));
  ASSERT_EQ(reply.kind, HelperReply::Kind::kAnswered) << "it cannot know";
  EXPECT_GT(server.Take(clients, reply), 1e20);
}

TEST_F(ANoisyLedger, MayBeToldHowMuchToAllow) {
  rules.most_epsilon = 1;
  Open();
  EXPECT_THAT(ledger->Refusal(kTestFederation, 1, TestTerms()), IsEmpty());
  EXPECT_THAT(ledger->Refusal(kTestFederation, 1, {}), HasSubstr("the federation has no noise"));
  NoiseTerms more = TestTerms();
  more.epsilon = 1.5;
  EXPECT_THAT(ledger->Refusal(kTestFederation, 1, more), HasSubstr("at most epsilon 1"));
  more = TestTerms();
  more.delta = 1e-3;
  EXPECT_THAT(ledger->Refusal(kTestFederation, 1, more), Not(IsEmpty()));
  EXPECT_EQ(ledger->Release(Good(0, 0, more), clients).kind, HelperReply::Kind::kRefused);
}

TEST_F(ANoisyLedger, StillAsksForEnoughClientsAndSamples) {
  ReleaseRequest few = Good(0, 0);
  few.messages.resize(1);
  ExpectNoisyRefusal(few, "1 clients; the minimum is 2");
  ReleaseRequest large = Good(1, 1);
  large.messages.clear();
  clients.Clear();
  clients.Send("a", 1, 500, large);
  clients.Send("b", 1, 31, large);
  ExpectNoisyRefusal(large, "31 without its largest client");
  EXPECT_EQ(ledger->EpsilonSpent(), 0) << "what is refused costs nothing";
  EXPECT_EQ(Ask(Good(2, 2)).kind, HelperReply::Kind::kAnswered);
}

TEST_F(ANoisyLedger, RefusesAnotherLayoutThanThatOfItsNoise) {
  ReleaseRequest request = Good(0, 0);
  request.noise.numbers = 7;
  ExpectNoisyRefusal(request, "sums of another layout");
  request = Good(1, 0);
  request.kind = 1;
  ExpectNoisyRefusal(request, "sums of another layout");
}

TEST(ANoisyLedgerWithoutRoom, TellsNothingAndDrawsAnew) {
  const MaskKeys helper = MakeMaskKeys();
  MaskingClients clients{kFourNoisy, helper.open};
  MemoryHelperLog log;
  HelperLedger ledger({.clients = kFourNoisy}, kTestHelper, helper.secret, log);
  ReleaseRequest request = TestRequest(0, 0, kNoisyNumbers, 1);
  request.ring = TestTerms().ring;
  request.noise = TestTerms();
  for (const std::string& name : kFourNoisy) clients.Send(name, 0, 20, request);
  log.full = true;
  ledger.Use(std::make_unique<HelperNoise>(request.noise));
  EXPECT_EQ(ledger.Release(request, clients).kind, HelperReply::Kind::kLater);
  EXPECT_THAT(log.contents.streams, IsEmpty());
  log.full = false;
  ledger.Use(std::make_unique<HelperNoise>(request.noise));
  EXPECT_EQ(ledger.Release(request, clients).kind, HelperReply::Kind::kAnswered);
  EXPECT_EQ(log.contents.streams.size(), kNoisyNumbers);
}

TEST(HelperNoise, IsAnErrorWhereItCannotBeLargeEnough) {
  NoiseTerms terms = TestTerms();
  terms.epsilon = 1e-9;
  EXPECT_THAT(MessageOf([&] { HelperNoise noise(terms); }), HasSubstr("epsilon"));
}

}  // namespace
}  // namespace polykern
