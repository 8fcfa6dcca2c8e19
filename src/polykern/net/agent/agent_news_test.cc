#include "polykern/net/agent/agent_news.h"

#include <chrono>
#include <string>

#include <gmock/gmock.h>

#include "polykern/io/folder_testing.h"

namespace polykern {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

AgentStatus Connected() {
  AgentStatus status;
  status.connected = true;
  status.step = 4;
  return status;
}

AgentStatus Away(const std::string& trouble) {
  AgentStatus status;
  status.step = 4;
  status.trouble = trouble;
  return status;
}

TEST(NewsOfAServer, AreToldOnce) {
  ServerNews news;
  EXPECT_EQ(news.Next(Connected()), "joined: at step 4");
  EXPECT_EQ(news.Next(Connected()), "");
  EXPECT_EQ(news.Next(Away("")), "");  // why is not known yet
  EXPECT_EQ(news.Next(Away("refused")),
            "refused; predicting with the model of step 4, and reconnecting");
  EXPECT_EQ(news.Next(Away("refused")), "");
  EXPECT_EQ(news.Next(Away("timed out")), "");  // away is away
  EXPECT_EQ(news.Next(Connected()), "connected again: at step 4");
  EXPECT_EQ(news.Next(Connected()), "");
  EXPECT_EQ(news.Next(Away("refused")),
            "refused; predicting with the model of step 4, and reconnecting");
}

TEST(NewsOfAServer, SayWhatTheOperatorMustDoWhateverWasSaidBefore) {
  ServerNews news;
  AgentStatus failed = Away("refused");
  EXPECT_NE(news.Next(failed), "");
  failed.failure = Error("revoked; see " + OptionName("clients"));
  EXPECT_EQ(Error(news.Next(failed)).Spelled(ShellSpelling),
            "revoked; see --clients; predicting with the model of step 4, and reconnecting");
  EXPECT_EQ(news.Next(failed), "");
  failed.failure = Error("expired");
  EXPECT_EQ(news.Next(failed), "expired; predicting with the model of step 4, and reconnecting");
}

TEST(NewsOfAServer, BeginWithJoiningAlsoIfItWasAwayAtFirst) {
  ServerNews news;
  EXPECT_NE(news.Next(Away("refused")), "");
  EXPECT_EQ(news.Next(Connected()), "joined: at step 4");
}

TEST(TallyTest, IsDueAtTheFirstAndThenOnceAMinuteIfThereIsMore) {
  Tally tally;
  const Tally::Time began{seconds(1000)};
  EXPECT_FALSE(tally.IsDue(0, began));
  EXPECT_TRUE(tally.IsDue(1, began));
  EXPECT_FALSE(tally.IsDue(50, began + milliseconds(59'999)));
  EXPECT_TRUE(tally.IsDue(51, began + seconds(60)));
  EXPECT_FALSE(tally.IsDue(51, began + seconds(600)));
  EXPECT_TRUE(tally.IsDue(52, began + seconds(601)));
}

class APatientUser : public testing::Test {
 protected:
  Patience::Time At(milliseconds time) const { return began + time; }

  const Patience::Time began{seconds(1000)};
};

TEST_F(APatientUser, HearsEachReasonOnce) {
  Patience patience(0, began);
  EXPECT_THAT(patience.Next(Away(""), At(seconds(1))), IsEmpty());
  EXPECT_THAT(patience.Next(Away("refused"), At(seconds(2))), ElementsAre("refused; trying again"));
  EXPECT_THAT(patience.Next(Away("refused"), At(seconds(3))), IsEmpty());
  EXPECT_THAT(patience.Next(Away("timed out"), At(seconds(4))),
              ElementsAre("timed out; trying again"));
}

TEST_F(APatientUser, HearsOnceThatAStepTakesLong) {
  Patience patience(0, began);
  EXPECT_THAT(patience.Next(Connected(), At(seconds(10))), IsEmpty());
  EXPECT_THAT(patience.Next(Connected(), At(milliseconds(10'001))),
              ElementsAre("waiting: step 4 has not ended; the server's log says for whom"));
  EXPECT_THAT(patience.Next(Connected(), At(seconds(60))), IsEmpty());
}

TEST_F(APatientUser, HearsOnceThatTheServerLetsNobodyIn) {
  Patience patience(0, began);
  EXPECT_THAT(patience.Next(Away(""), At(seconds(10))), IsEmpty());
  EXPECT_THAT(
      patience.Next(Away(""), At(milliseconds(10'001))),
      ElementsAre("waiting: the server has not let this agent in yet; its log may say why"));
  EXPECT_THAT(patience.Next(Away(""), At(seconds(60))), IsEmpty());
}

TEST_F(APatientUser, GivesUpAfterSoMuchTimeWithoutAConnection) {
  Patience patience(2.5, began);
  EXPECT_THAT(patience.Next(Away("refused"), At(milliseconds(2500))),
              ElementsAre("refused; trying again"));
  EXPECT_THAT(patience.Next(Connected(), At(seconds(5))), IsEmpty());
  EXPECT_THAT(patience.Next(Away("refused"), At(milliseconds(7500))), IsEmpty());
  EXPECT_EQ(MessageOf([&] { patience.Next(Away("refused"), At(milliseconds(7501))); }),
            "no connection for 2.5 s: refused");
}

TEST_F(APatientUser, WhoWasToldNothingIsToldThatTheServerDoesNotAnswer) {
  Patience patience(1, began);
  EXPECT_EQ(MessageOf([&] { patience.Next(Away(""), At(seconds(2))); }),
            "no connection for 1.0 s: the server does not answer");
}

TEST_F(APatientUser, NeverGivesUpUnlessTold) {
  Patience patience(0, began);
  EXPECT_NO_THROW(patience.Next(Away(""), At(std::chrono::hours(1000))));
}

TEST(BadLinesTest, AreToldOfOneByOneUntilThereAreMany) {
  BadLines lines;
  BadLines::Time now{};
  for (int n = 0; n < BadLines::kAtOnce; ++n) EXPECT_EQ(lines.Next("bad", now), "bad; skipped");
  for (int n = 0; n < 1000; ++n) EXPECT_EQ(lines.Next("bad", now), "");
  now += std::chrono::seconds(1);
  EXPECT_EQ(lines.Next("worse", now), "worse; skipped, and 1000 other lines since the last");
  EXPECT_EQ(lines.Next("bad", now), "");
  now += std::chrono::seconds(9);
  EXPECT_EQ(lines.Next("bad", now), "bad; skipped, and 1 other lines since the last");
}

}  // namespace
}  // namespace polykern
