#include "polykern/net/helper/helper_ledger.h"

#include <algorithm>
#include <optional>

#include <gmock/gmock.h>

#include "polykern/io/folder_testing.h"
#include "polykern/net/helper/helper_testing.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const std::set<std::string> kFour = {"a", "b", "c", "d"};

class ALedger : public testing::Test {
 protected:
  ALedger() { Open(); }

  /// As after a restart.
  void Open() { ledger.emplace(rules, kTestHelper, helper.secret, log); }

  /// A sum that breaks no rule: messages of all clients, 20 samples each, for a step.
  ReleaseRequest Good(std::uint64_t number, std::uint64_t step, std::uint32_t kind = 0,
                      std::uint64_t epoch = 0) {
    ReleaseRequest request = TestRequest(number, kind, 20, epoch);
    clients.Clear();
    for (const std::string& name : kFour) clients.Send(name, step, 20, request);
    return request;
  }
  HelperReply Ask(const ReleaseRequest& request) { return ledger->Release(request, clients); }
  /// It is refused for this reason, and nothing has changed.
  void ExpectRefusal(const ReleaseRequest& request, const std::string& reason,
                     HelperReply::Kind kind = HelperReply::Kind::kRefused) {
    const HelperContents before = log.contents;
    const HelperReply reply = Ask(request);
    EXPECT_EQ(reply.kind, kind);
    EXPECT_THAT(reply.reason, HasSubstr(reason));
    EXPECT_THAT(reply.streams, IsEmpty());
    EXPECT_EQ(log.contents, before);
  }
  /// It is refused for good: again and again, and its number is used up; nothing else has changed.
  void ExpectSettled(const ReleaseRequest& request, const std::string& reason) {
    HelperContents after = log.contents;
    after.federation = request.federation;
    after.epoch = request.epoch;
    ++after.releases;
    after.digest = DigestOf(request);
    after.answer.clear();
    const HelperReply reply = Ask(request);
    EXPECT_EQ(reply.kind, HelperReply::Kind::kRefused);
    EXPECT_THAT(reply.reason, HasSubstr(reason));
    EXPECT_THAT(reply.streams, IsEmpty());
    after.refusal = reply.reason;
    EXPECT_EQ(log.contents, after);
    ExpectRefusal(request, reply.reason);
  }
  /// It is answered, and the masks come off.
  HelperReply ExpectAnswer(const ReleaseRequest& request) {
    const HelperReply reply = Ask(request);
    EXPECT_EQ(reply.kind, HelperReply::Kind::kAnswered) << reply.reason;
    EXPECT_EQ(clients.Unmasked(reply), clients.plain);
    return reply;
  }

  HelperRules rules{.clients = kFour, .least_clients = 2};
  const MaskKeys helper = MakeMaskKeys();
  MemoryHelperLog log;
  MaskingClients clients{kFour, helper.open};
  std::optional<HelperLedger> ledger;
};

TEST_F(ALedger, GivesTheStreamsOfExactlyTheMessagesInASum) {
  ReleaseRequest request = TestRequest(0, 7, 1000);
  clients.Send("c", 3, 500, request);
  clients.Send("a", 5, 400, request);  // several steps of one client join
  clients.Send("a", 3, 600, request);
  ExpectAnswer(request);
  EXPECT_EQ(log.contents.releases, 1U);
  EXPECT_EQ(log.contents.numbers, 1000U);
  EXPECT_EQ(log.contents.unknowns, 6 * 1500U);
  EXPECT_EQ(log.contents.next_steps.at({"a", 7}), 6U);
  EXPECT_EQ(log.contents.next_steps.at({"c", 7}), 4U);
}

/// So many numbers that several threads add them up.
TEST_F(ALedger, AddsUpLongSumsInEitherRing) {
  rules.disclosure = 1e9;
  Open();
  clients.below = 1000;
  std::uint64_t number = 0;
  for (const unsigned bits : {32U, 64U}) {
    ReleaseRequest request = TestRequest(number++, 0, 100'000);
    request.ring.bits = bits;
    clients.Clear();
    for (std::uint64_t step = 0; step < 3; ++step) {
      for (const char* name : {"a", "b", "c"}) clients.Send(name, 10 * bits + step, 500, request);
    }
    const HelperReply reply = Ask(request);
    ASSERT_EQ(reply.kind, HelperReply::Kind::kAnswered) << reply.reason;
    std::vector<std::uint64_t> sums = clients.Unmasked(reply);
    for (std::uint64_t& sum : sums) sum = request.ring.Wrap(static_cast<std::int64_t>(sum));
    EXPECT_EQ(sums, clients.plain);
    EXPECT_TRUE(std::ranges::all_of(reply.streams, [&](std::uint64_t each) {
      return each == request.ring.Wrap(static_cast<std::int64_t>(each));
    }));
  }
}

TEST_F(ALedger, RefusesFewerClientsThanTheLeast) {
  rules.least_clients = 3;
  Open();
  ReleaseRequest request = TestRequest(0);
  clients.Send("a", 0, 50, request);
  clients.Send("b", 0, 50, request);
  clients.Send("b", 1, 50, request);
  ExpectSettled(request, "2 clients; the minimum is 3");
  ++request.number;
  clients.Send("c", 0, 1, request);
  ExpectAnswer(request);
}

TEST_F(ALedger, RefusesASumOfNobody) {
  rules.least_clients = 0;
  rules.least_samples = 0;
  Open();
  ExpectSettled(TestRequest(0), "0 clients");
}

TEST_F(ALedger, RefusesFewerSamplesThanTheLeastAlsoWithoutTheLargestClient) {
  ReleaseRequest few = TestRequest(0);
  clients.Send("a", 0, 15, few);
  clients.Send("b", 0, 16, few);
  ExpectSettled(few, "31 samples, 15 without its largest client; the minimum is 32");
  clients.Clear();
  ReleaseRequest request = TestRequest(1);
  clients.Send("a", 0, 500, request);
  clients.Send("a", 1, 500, request);
  clients.Send("b", 0, 31, request);
  ExpectSettled(request, "1031 samples, 31 without");
  ++request.number;
  clients.Send("c", 0, 1, request);
  ExpectAnswer(request);
}

TEST_F(ALedger, RefusesASumWhoseSamplesDoNotPayForIt) {
  // 80 samples of 6 unknowns: 240 numbers at a disclosure of a half.
  ReleaseRequest request = TestRequest(0, 0, 241);
  for (const std::string& name : kFour) clients.Send(name, 0, 20, request);
  ExpectSettled(request, "241 numbers over 480 unknowns are more than");
  clients.Clear();
  request = TestRequest(1, 0, 240);
  for (const std::string& name : kFour) clients.Send(name, 0, 20, request);
  ExpectAnswer(request);
}

/// The same samples are in the sums of all kinds: the bucket against a plain computation.
TEST_F(ALedger, RefusesWhatAllReleasesTogetherDoNotPayFor) {
  Random random(5, Purpose::kTest);
  std::uint64_t unknowns = 0;
  std::uint64_t numbers = 0;
  std::size_t answered = 0;
  std::size_t refused = 0;
  for (std::uint64_t step = 0; step < 100; ++step) {
    const auto kind = static_cast<std::uint32_t>(random.Below(4));
    ReleaseRequest request = TestRequest(step, kind, 1 + random.Below(200));
    clients.Clear();
    std::uint64_t fresh = 0;
    for (const std::string& name : kFour) {
      const std::uint64_t of_new = random.Below(61);
      fresh += of_new;
      clients.Send({.client = name, .step = step, .count = {17, 102}, .new_unknowns = of_new},
                   request);
    }
    if (2 * (numbers + request.numbers) <= unknowns + fresh) {
      ExpectAnswer(request);
      numbers += request.numbers;
      unknowns += fresh;
      ++answered;
    } else {
      ++refused;
      ExpectSettled(request, "unknowns are more than the disclosure");
    }
  }
  EXPECT_GT(answered, 20U);
  EXPECT_GT(refused, 10U);
}

TEST_F(ALedger, RefusesClientsThatItWasNotGiven) {
  ReleaseRequest request = Good(0, 0);
  request.messages.front().client = "stranger";
  ExpectSettled(request, "stranger: is not among the clients");
}

TEST_F(ALedger, RefusesClientsWhoseKeyIsNotGoodNow) {
  ReleaseRequest request = Good(0, 0);
  clients.without["b"] = {.reason = "the certificate is revoked"};
  ExpectSettled(request, "b: the certificate is revoked");
  ++request.number;
  clients.without["b"] = {.reason = "its mask key is missing", .later = true};
  ExpectRefusal(request, "b: its mask key is missing", HelperReply::Kind::kLater);
  clients.without["b"] = {.key = PublicKey{}};  // gives the same secret with every key
  ExpectSettled(request, "b: ");
  clients.without.clear();
  ++request.number;
  ExpectAnswer(request);
}

TEST_F(ALedger, RefusesADoubledClient) {
  ReleaseRequest request = Good(0, 3);
  request.messages.push_back(request.messages[1]);
  ExpectSettled(request, "b: has two messages for step 3");
  ++request.number;
  ++request.messages.back().count.samples;
  ++request.messages.back().nonce[0];
  ExpectSettled(request, "b: has two messages for step 3");
}

TEST_F(ALedger, RefusesTurnsThatDoNotRise) {
  ExpectAnswer(Good(0, 5));
  ExpectSettled(Good(1, 5), "a: step 5 is not after");
  ReleaseRequest older = Good(2, 6);
  clients.Send("d", 4, 1, older);
  ExpectSettled(older, "d: step 4 is not after");
  ExpectAnswer(Good(3, 5, 1));  // of another kind it is a message that was not released
  ExpectAnswer(Good(4, 6));
}

TEST_F(ALedger, RefusesAnOlderEpochAndBeginsANewOneFromNothing) {
  ExpectAnswer(Good(0, 5, 0, 2));
  ExpectRefusal(Good(0, 6, 0, 1), "epoch 1 is over: the helper is in epoch 2");
  EXPECT_THAT(ledger->Refusal(kTestFederation, 1), HasSubstr("epoch 1 is over"));
  EXPECT_EQ(ledger->releases(2), 1U);
  EXPECT_EQ(ledger->releases(3), 0U);
  ExpectRefusal(Good(1, 6, 0, 3), "release 1 cannot be made: the helper has made 0 so far");
  ExpectAnswer(Good(0, 5, 0, 3));
  EXPECT_EQ(log.contents.releases, 1U);
  EXPECT_EQ(log.contents.numbers, 20U);
  ExpectRefusal(Good(1, 6, 0, 2), "epoch 2 is over");
}

TEST_F(ALedger, WorksForOneFederation) {
  ExpectAnswer(Good(0, 0));
  ReleaseRequest other = Good(0, 0, 0, 9);
  other.federation = "another";
  ExpectRefusal(other, "belongs to another federation; start the helper with a new store");
  EXPECT_THAT(ledger->Refusal("another", 0), HasSubstr("belongs to another federation"));
}

TEST_F(ALedger, GivesTheSameRequestTheSameAnswer) {
  ReleaseRequest request = Good(0, 0);
  const HelperReply first = ExpectAnswer(request);
  Open();  // the ledger is made anew from the log
  std::ranges::reverse(request.messages);
  const HelperContents before = log.contents;
  const std::size_t asked = clients.asked;
  EXPECT_EQ(Ask(request).streams, first.streams);
  EXPECT_EQ(log.contents, before);
  EXPECT_EQ(clients.asked, asked);  // and it is not made again
  ExpectAnswer(Good(1, 1));
  ExpectRefusal(request, "release 0 cannot be made: the helper has already made it for another");
}

/// Sums over sets that differ by one client are that client's numbers.
TEST_F(ALedger, RefusesAnythingElseForAnAnsweredRelease) {
  const ReleaseRequest request = Good(0, 0);
  ExpectAnswer(request);
  ReleaseRequest fewer = request;
  fewer.messages.pop_back();
  ExpectRefusal(fewer, "the helper has already made it for another");
  ReleaseRequest other = request;
  other.messages.front().releases = 1;  // whatever it is that differs
  ExpectRefusal(other, "the helper has already made it for another");
  ExpectRefusal(Good(5, 1), "release 5 cannot be made: the helper has made 1 so far");
}

TEST_F(ALedger, RefusesEverythingOnceItsLogIsOlderThanWhatClientsKnow) {
  ExpectAnswer(Good(0, 0));
  const HelperContents backup = log.contents;
  ExpectAnswer(Good(1, 1));
  ExpectAnswer(Good(2, 2));
  log.contents = backup;
  Open();
  ReleaseRequest request = Good(1, 3);
  request.messages[2].releases = 3;
  EXPECT_THAT(Ask(request).reason, HasSubstr("restored from a backup"));
  Open();
  request.messages[2].releases = 0;
  ExpectRefusal(request, "restored from a backup");  // whatever the server says from now on
  ExpectRefusal(Good(1, 4), "start a new epoch");
  ExpectAnswer(Good(0, 5, 0, 1));
}

TEST_F(ALedger, KnowsALogThatWasLostByTheEpochToo) {
  ReleaseRequest request = Good(0, 0, 0, 4);
  request.messages[0].releases = 1;
  EXPECT_THAT(Ask(request).reason, HasSubstr("restored from a backup"));
  EXPECT_TRUE(log.contents.behind);
  EXPECT_EQ(log.contents.epoch, 4U);
}

TEST_F(ALedger, CountsWhatItHasRefusedAmongTheReleasesThatClientsKnowOf) {
  ReleaseRequest few = TestRequest(0);
  clients.Send("a", 0, 15, few);
  ExpectSettled(few, "1 clients");
  ReleaseRequest request = TestRequest(1);
  clients.Clear();
  for (const std::string& name : kFour) clients.Send(name, 1, 20, request, 1);
  Open();
  ExpectAnswer(request);
}

TEST_F(ALedger, TakesClientsThatKnowOfEveryRelease) {
  ExpectAnswer(Good(0, 0));
  ReleaseRequest request = TestRequest(1);
  clients.Clear();
  for (const std::string& name : kFour) clients.Send(name, 1, 20, request, 1);
  ExpectAnswer(request);
}

TEST_F(ALedger, PutsOffWhatItCannotWriteDown) {
  const ReleaseRequest request = Good(0, 0);
  log.full = true;
  ExpectRefusal(request, "the disk is full", HelperReply::Kind::kLater);
  EXPECT_EQ(ledger->releases(0), 0U);
  ReleaseRequest behind = request;
  behind.messages[0].releases = 9;
  ExpectRefusal(behind, "the disk is full", HelperReply::Kind::kLater);
  log.full = false;
  ExpectAnswer(request);
}

TEST_F(ALedger, AnswersNothingThatIsNotInItsLog) {
  log.broken = true;
  const ReleaseRequest request = Good(0, 0);
  EXPECT_THAT(MessageOf([&] { Ask(request); }), HasSubstr("the disk is broken"));
}

/// A server that misreports anything gets garbage: every number of the sum is wrong.
TEST_F(ALedger, GivesGarbageToAServerThatMisreports) {
  const auto all_differ = [&](const ReleaseRequest& request) {
    const HelperReply reply = Ask(request);
    EXPECT_EQ(reply.kind, HelperReply::Kind::kAnswered) << reply.reason;
    const auto numbers = clients.Unmasked(reply);
    bool differ = true;
    for (std::size_t i = 0; i < clients.plain.size(); ++i) differ &= numbers[i] != clients.plain[i];
    return differ;
  };
  ReleaseRequest request = Good(0, 0);
  ++request.messages[0].count.samples;
  EXPECT_TRUE(all_differ(request));
  request = Good(1, 1);
  --request.messages[0].count.unknowns;
  EXPECT_TRUE(all_differ(request));
  request = Good(2, 2);
  ++request.messages[3].step;
  EXPECT_TRUE(all_differ(request));
  request = Good(3, 4);
  ++request.numbers;
  EXPECT_TRUE(all_differ(request));
  request = Good(4, 5);
  request.kind = 1;
  EXPECT_TRUE(all_differ(request));
  request = Good(5, 6);
  request.ring.unit = 1;
  EXPECT_TRUE(all_differ(request));
  request = Good(6, 7);
  ++request.messages[1].nonce[15];
  EXPECT_TRUE(all_differ(request));
  request = Good(7, 8);
  std::swap(request.messages[1].client, request.messages[2].client);
  EXPECT_TRUE(all_differ(request));
  request = Good(8, 9);
  ++request.messages[1].new_unknowns;
  EXPECT_TRUE(all_differ(request));
  request = Good(9, 10);
  request.messages[1].releases = 9;
  EXPECT_TRUE(all_differ(request));
  ExpectAnswer(Good(10, 11));
}

TEST_F(ALedger, TakesANewKeyOfAClient) {
  ExpectAnswer(Good(0, 0));
  MaskingClients renewed(kFour, helper.open);
  ReleaseRequest request = TestRequest(1);
  for (const std::string& name : kFour) renewed.Send(name, 1, 20, request);
  const HelperReply reply = ledger->Release(request, renewed);
  EXPECT_EQ(renewed.Unmasked(reply), renewed.plain);
}

}  // namespace
}  // namespace polykern
