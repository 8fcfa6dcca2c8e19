// What front ends of one federation do with a real database.
#include "polykern/net/rounds/front.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/net/configuration_texts.h"
#include "polykern/net/front/front_tables_internal.h"
#include "polykern/net/front/front_testing.h"
#include "polykern/net/front/step_ender.h"
#include "polykern/net/postgresql/postgresql_tables_internal.h"
#include "polykern/net/rounds/client_notes.h"
#include "polykern/net/store_kinds/open_store.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FrontsOf : public FrontsInADatabase {
 protected:
  /// What a client is to the front ends, after it was claimed by one of them.
  static FrontClient Claim(Front& front, const std::string& name) {
    const FrontNews news = front.Exchange({.claims = {{name, ""}}, .writes = false});
    return news.claimed.empty() ? FrontClient{} : news.claimed[0];
  }
  static FrontPartial PartialOf(std::uint64_t serial, std::uint64_t step,
                                const std::vector<std::uint64_t>& clients) {
    FrontPartial partial{.serial = serial, .step = step, .sums = {1, 2, 3}};
    for (const std::uint64_t client : clients) partial.counted.push_back({client, step});
    partial.clients = clients.size();
    return partial;
  }
};

TEST_F(FrontsOf, NumberClientsInTheOrderTheyCameToAnyOfThem) {
  const auto a = Join(1);
  const auto b = Join(2);
  EXPECT_EQ(Claim(*a, "x").number, 0U);
  EXPECT_EQ(Claim(*b, "y").number, 1U);
  const FrontNews news =
      a->Exchange({.claims = {{"z", ""}, {"x", ""}}, .writes = false});  // one it has already
  ASSERT_EQ(news.claimed.size(), 2U);
  EXPECT_EQ(news.claimed[0].name, "x");
  EXPECT_EQ(news.claimed[1].name, "z");
  EXPECT_EQ(news.claimed[1].number, 2U);
  const StoreContents contents = b->Contents();
  ASSERT_EQ(contents.clients.size(), 3U);
  EXPECT_EQ(contents.clients[1].name, "y");
}

TEST_F(FrontsOf, KeepARosterInItsOrder) {
  const auto a = Join(1);
  const std::vector<std::string> roster = {"c", "a", "b"};
  a->Write({.clients = roster});
  a->Write({.clients = roster});
  EXPECT_EQ(Claim(*Join(2), "b").number, 2U);
  EXPECT_EQ(a->Contents().clients.size(), 3U);
}

TEST_F(FrontsOf, HaveRoomForSoManyClientsTogether) {
  const auto a = Join(1);
  const auto b = Join(2);
  Claim(*a, "x");
  Claim(*b, "y");
  const FrontWork work{.claims = {{"z", ""}, {"x", ""}}, .most_clients = 2, .writes = false};
  const FrontNews news = a->Exchange(work);
  EXPECT_THAT(news.full, ElementsAre("z"));
  EXPECT_EQ(news.claimed.size(), 1U);
  b->Exchange({.released = {1}});
  ForgetClient(*b, "y");  // gives its room to another one
  EXPECT_THAT(a->Exchange(work).full, IsEmpty());
}

TEST_F(FrontsOf, KnowWhoIsConnectedAndWhoIsGone) {
  const auto a = Join(1);
  const std::uint64_t x = Claim(*a, "x").number;
  Claim(*a, "y");
  a->Exchange({.partial = PartialOf(1, 0, {x})});
  a->Exchange({.certificates = {{x, {.serial = "0A", .expires = 99}}}});
  LabelClient(*Join(2), "x", "roof");
  EXPECT_THROW(ForgetClient(*Join(2), "x"), Error);
  a->Exchange({.released = {x}});
  ForgetClient(*Join(2), "x");
  const std::vector<StoredClient> clients = a->Contents().clients;
  EXPECT_EQ(clients[0].note, (ClientNote{"roof", true, "0A", 99}));
  EXPECT_FALSE(clients[0].connected);
  EXPECT_TRUE(clients[0].gone);
  EXPECT_TRUE(clients[1].connected);
  Connection connection(place_);
  EXPECT_EQ(LookAt(connection, 1).all.gone, 1U);
  EXPECT_EQ(LookAt(connection, 1).all.gone_unanswered, 0U);  // what it sent counts
  Claim(*a, "x");
  EXPECT_FALSE(a->Contents().clients[0].gone);
  EXPECT_EQ(a->Contents().clients[0].note, (ClientNote{"roof", false, "0A", 99}));
}

TEST_F(FrontsOf, DoNotWaitForClientsWithoutAValidCertificate) {
  const auto a = Join(1);
  for (const char* name : {"x", "y", "z"}) Claim(*a, name);
  a->Exchange(
      {.certificates = {{0, {.serial = "0A"}}, {1, {.serial = "0B"}}, {2, {.serial = "0A"}}}});
  a->Exchange({.released = {0, 1}});
  const auto gone = [&](const std::string& revoked) {
    a->Exchange({.may_come_in = [&](const ClientNote& note) { return note.serial != revoked; },
                 .writes = false});
    std::vector<bool> each;
    for (const StoredClient& client : a->Contents().clients) each.push_back(client.gone);
    return each;
  };
  EXPECT_THAT(gone("0A"), ElementsAre(true, false, false));  // z is connected
  EXPECT_THAT(gone("0B"), ElementsAre(false, true, false));
  EXPECT_THAT(gone(""), ElementsAre(false, false, false));
}

TEST(AFrontEnd, SaysThatClocksDiffer) {
  EXPECT_EQ(WrongClock(1000, 1060), "");
  EXPECT_THAT(WrongClock(1000, 1061), HasSubstr("clock is 61 s behind the database's: steps"));
  EXPECT_THAT(WrongClock(9000, 1000), HasSubstr("clock is 8000 s ahead of the database's: steps"));
}

TEST(AFrontEnd, HasANumberThatFitsALock) {
  std::set<std::uint64_t> numbers;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t number = NewFrontNumber();
    EXPECT_GT(number, 0U);
    EXPECT_LT(number, std::uint64_t{1} << 31);
    numbers.insert(number);
  }
  EXPECT_GT(numbers.size(), 95U) << "two of a hundred are alike once in 400,000 times";
}

TEST(AQuorum, IsOfTheClientsOfAllFrontEnds) {
  FrontsStatus all{.step = 5, .gone = 2, .answered = 6, .expected = 20, .gone_unanswered = 1};
  all.fronts = {{.report = {.step = 5, .connected = 9, .waiting = 3, .held = 1}},
                {.report = {.step = 4, .connected = 10, .waiting = 2}}};  // has not heard of it
  RoundsOptions options{.quorum = {.share = 0.5}, .least_clients = 2};
  EXPECT_EQ(NeededOf(all, options, false), 10U);
  EXPECT_EQ(NeededOf(all, options, true), 3U);
  options.least_clients = 8;
  EXPECT_EQ(NeededOf(all, options, true), 8U);
  options.quorum = {.count = 7};
  EXPECT_EQ(NeededOf(all, options, false), 7U);
  options.quorum = Quorum::All();
  EXPECT_EQ(NeededOf(all, options, false), 20U);
  options.roster = {"a", "b", "c"};
  EXPECT_EQ(NeededOf(all, options, false), 2U);
}

TEST_F(FrontsOf, TakeClientsOfOneThatIsGone) {
  const auto b = Join(2);
  {
    const auto a = Join(1);
    Claim(*a, "x");
    EXPECT_FALSE(Claim(*b, "x").here);  // a is there
  }
  for (int i = 0; i < 100 && LivingFronts(*std::make_unique<Connection>(place_)).size() > 1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the database notices it
  }
  EXPECT_TRUE(Claim(*b, "x").here);
}

TEST_F(FrontsOf, GiveClientsUpThatHaveGoneToAnother) {
  const auto a = Join(1);
  const auto b = Join(2);
  const std::uint64_t x = Claim(*a, "x").number;
  EXPECT_FALSE(Claim(*b, "x").here);
  EXPECT_THAT(a->Exchange({.writes = false}).wanted, ElementsAre(x));
  // What a has of it comes with it.
  const FrontNews news = a->Exchange({.released = {x}, .partial = PartialOf(1, 0, {x})});
  EXPECT_TRUE(news.taken);
  EXPECT_THAT(news.wanted, IsEmpty());
  const FrontClient moved = Claim(*b, "x");
  EXPECT_TRUE(moved.here);
  EXPECT_EQ(moved.next_step, 1U);
}

TEST_F(FrontsOf, TakeAPartialOnceHoweverOftenItIsHandedIn) {
  const auto a = Join(1);
  const std::uint64_t x = Claim(*a, "x").number;
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(a->Exchange({.partial = PartialOf(1, 0, {x})}).taken);
  }
  EXPECT_EQ(Number("SELECT count(*) FROM polykern_partial"), 1);
  EXPECT_EQ(Number("SELECT accepted FROM polykern_client"), 1);
  // The same update in another partial.
  const FrontNews again = a->Exchange({.partial = PartialOf(2, 0, {x})});
  EXPECT_FALSE(again.taken);
  ASSERT_EQ(again.settled.size(), 1U);
  EXPECT_EQ(again.settled[0].next_step, 1U);
  EXPECT_EQ(Number("SELECT accepted FROM polykern_client"), 1);
}

TEST_F(FrontsOf, TakeAPartialAsAWholeOrNotAtAll) {
  const auto a = Join(1);
  const auto b = Join(2);
  const std::uint64_t x = Claim(*a, "x").number;
  const std::uint64_t y = Claim(*b, "y").number;
  const FrontNews news = a->Exchange({.partial = PartialOf(1, 0, {x, y})});
  EXPECT_FALSE(news.taken);
  ASSERT_EQ(news.settled.size(), 2U);
  EXPECT_TRUE(news.settled[0].here);
  EXPECT_FALSE(news.settled[1].here);
  EXPECT_EQ(Number("SELECT count(*) FROM polykern_partial"), 0);
  EXPECT_EQ(Number("SELECT sum(next_step)::bigint FROM polykern_client"), 0);
}

TEST_F(FrontsOf, TakeNothingForAStepThatIsOver) {
  const auto a = Join(1);
  const std::uint64_t x = Claim(*a, "x").number;
  Run("UPDATE polykern_open SET step = 1");
  const FrontNews news = a->Exchange({.partial = PartialOf(1, 0, {x})});
  EXPECT_FALSE(news.taken);
  EXPECT_TRUE(news.over);
  EXPECT_EQ(Number("SELECT next_step FROM polykern_client"), 0);
}

TEST_F(FrontsOf, HearOfANewStepWhenItsModelIsMade) {
  const auto a = Join(1);
  EXPECT_FALSE(a->Exchange({.step = 0, .writes = false}).over);
  Run("INSERT INTO polykern_state VALUES(1, sha256('\\x000000000000f03f'), '\\x000000000000f03f')");
  Run("UPDATE polykern_open SET step = 1, ready = false");
  const FrontNews early = a->Exchange({.step = 0, .writes = false});
  EXPECT_TRUE(early.over);
  EXPECT_FALSE(early.newest) << "its masks are not off yet";
  Run("UPDATE polykern_open SET ready = true");
  const FrontNews news = a->Exchange({.step = 0, .writes = false});
  ASSERT_TRUE(news.newest);
  EXPECT_EQ(news.newest->steps, 1U);
  EXPECT_THAT(news.newest->state, ElementsAre(1.0));
  EXPECT_FALSE(a->Exchange({.step = 1, .writes = false}).newest) << "it knows";
}

TEST_F(FrontsOf, AreAskedForWhatTheyHaveOfTheOpenStepAlone) {
  const auto a = Join(1);
  EXPECT_FALSE(a->Exchange({.step = 0, .writes = false}).asked);
  Run("UPDATE polykern_open SET asked = true");
  EXPECT_TRUE(a->Exchange({.step = 0, .writes = false}).asked);
  Run("UPDATE polykern_open SET step = 1");
  EXPECT_FALSE(a->Exchange({.step = 0, .writes = false}).asked);
}

TEST_F(FrontsOf, KnowWhichClientsAreNoLongerTheirs) {
  const auto a = Join(1);
  const auto b = Join(2);
  const std::uint64_t x = Claim(*a, "x").number;
  const std::uint64_t y = Claim(*a, "y").number;
  a->Exchange({.released = {x}});
  EXPECT_TRUE(Claim(*b, "x").here) << "nobody has to be asked for it";
  const FrontNews news = a->Exchange({.confirms = {x, y}, .writes = false});
  ASSERT_EQ(news.confirmed.size(), 2U);
  for (const FrontClient& each : news.confirmed) EXPECT_EQ(each.here, each.number == y);
}

TEST_F(FrontsOf, WriteEventsAndRejectionsOnce) {
  const auto a = Join(1);
  const std::uint64_t x = Claim(*a, "x").number;
  a->Exchange({.rejected = {{x, 3}}, .events = {{5, "x", "rejected", "not a number"}}});
  a->Exchange({.rejected = {{x, 1}}});
  const StoreContents contents = a->Contents();
  EXPECT_EQ(contents.clients[0].rejected, 4U);
  EXPECT_EQ(contents.events, 1U);
}

TEST_F(FrontsOf, KeepTheNewestMaskKeyOfAClient) {
  const auto a = Join(1);
  for (const char* key : {"one", "one", "two"}) {
    a->Exchange({.claims = {{"x", key}}, .writes = false});
  }
  EXPECT_EQ(Number("SELECT count(*) FROM polykern_key WHERE key = 'two'"), 1);
  EXPECT_EQ(Number("SELECT count(*) FROM polykern_key"), 1);
}

TEST_F(FrontsOf, KnowOfEachOther) {
  const auto a = Join(1);
  const auto b = Join(2);
  a->Exchange({.report = {.address = "a:1", .connected = 3, .waiting = 1, .newcomers = 2}});
  b->Exchange({.report = {.address = "b:2", .connected = 4, .accepted = 7}});
  Run("UPDATE polykern_open SET leader = 2, known = 5");
  Connection connection(place_);
  const FederationNow now = LookAt(connection, 1);
  ASSERT_EQ(now.all.fronts.size(), 2U);
  EXPECT_EQ(now.all.fronts[0].report,
            (FrontReport{.address = "a:1", .connected = 3, .waiting = 1, .newcomers = 2}));
  EXPECT_TRUE(now.all.fronts[0].here);
  EXPECT_FALSE(now.all.fronts[0].leads);
  EXPECT_TRUE(now.all.fronts[1].leads);
  EXPECT_EQ(now.all.expected, 7U);
}

TEST_F(FrontsOf, HearOfWhatOthersSay) {
  const auto a = Join(1);
  std::atomic<int> woken = 0;
  a->OnNews([&woken] { ++woken; });
  Connection connection(place_);
  const auto tell = [&](const char* front) {
    Notify(connection, ChannelOf(connection, Ears::kFronts), front);
  };
  const auto wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  // The listener wakes once when it begins; the second time it was told.
  for (int i = 0; i < 200 && woken < 2; ++i, wait()) tell("1");
  ASSERT_GE(woken, 2);
  // What it was told before may come late on a busy machine: one silence is enough, since whoever
  // listened to what others are told would never be silent.
  bool silent = false;
  for (int i = 0; i < 20 && !silent; ++i) {
    a->Exchange({.writes = false});
    woken = 0;
    tell("2");  // another one
    for (int j = 0; j < 25 && woken == 0; ++j) wait();
    silent = woken == 0 && !a->HasNews();
  }
  EXPECT_TRUE(silent);
  tell("1");
  for (int i = 0; i < 200 && woken == 0; ++i) wait();
  EXPECT_TRUE(a->HasNews());
  a->OnNews(nullptr);
}

TEST_F(FrontsOf, KeepAWriterOutThatWantsTheStoreForItself) {
  const auto a = Join(1);
  EXPECT_THROW(OpenStore(url()), StoreInUse);
}

TEST_F(FrontsOf, LeaveNothingHalfDoneToAWriterThatIsAlone) {
  {
    const auto a = Join(1);
    const std::uint64_t x = Claim(*a, "x").number;
    a->Exchange({.partial = PartialOf(1, 0, {x})});
  }
  EXPECT_EQ(ReadStore(url()).clients[0].next_step, 0U);  // its step has not ended
  const auto store = OpenStore(url());
  EXPECT_EQ(store->Contents().clients[0].accepted, 0U);
  EXPECT_EQ(Number("SELECT next_step FROM polykern_client"), 0);
  EXPECT_EQ(Number("SELECT count(*) FROM polykern_partial"), 0);
}

TEST_F(FrontsOf, SayWhatDiffersInAnotherFederation) {
  const auto a = Join(1);
  Claim(*a, "x");
  StoreConfiguration other = ToTexts(configuration_);
  other["seed"] = "8";
  try {
    JoinFronts({.place = place_, .number = 2}, other);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("another configuration (seed"));
  }
}

}  // namespace
}  // namespace polykern
