#include "polykern/net/rounds/links.h"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/broken_rule.h"

namespace polykern {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class SilentPeer final : public Peer {
 public:
  void Wake() override {}
};

TEST(ALink, TakesAnswersToLaterAndLaterSteps) {
  Link link{.began = 3};
  link.CheckAnswer(3);
  link.Answered(3);
  EXPECT_THROW(link.CheckAnswer(3), BrokenRule);
  EXPECT_THROW(link.CheckAnswer(2), BrokenRule);
  EXPECT_NO_THROW(link.CheckAnswer(4));
  EXPECT_NO_THROW(link.CheckAnswer(9));
}

TEST(ALink, TakesTwoAnswersToStepsBeforeItBegan) {
  Link link{.began = 9};
  link.Answered(1);
  link.Answered(4);
  EXPECT_THROW(link.CheckAnswer(8), BrokenRule);
  EXPECT_NO_THROW(link.CheckAnswer(9));
}

TEST(ALink, KeepsEightRepliesForAClientThatDoesNotRead) {
  Link link;
  for (int i = 0; i < 20; ++i) link.Reply(std::to_string(i));
  EXPECT_EQ(link.replies.size(), 8U);
  EXPECT_EQ(link.replies.front(), "0");
}

TEST(Links, AreFoundUntilTheyAreClosed) {
  Links links;
  const SessionId one = links.Open(std::make_shared<SilentPeer>(), 7);
  const SessionId two = links.Open(std::make_shared<SilentPeer>(), 8);
  EXPECT_NE(one, two);
  EXPECT_EQ(links.Find(two)->began, 8U);
  links.Close(one);
  EXPECT_EQ(links.Find(one), nullptr);
  EXPECT_NE(links.Find(two), nullptr);
}

TEST(Links, WakeWhoHasSomethingToTakeOnce) {
  Links links;
  const auto first = std::make_shared<SilentPeer>();
  const auto second = std::make_shared<SilentPeer>();
  Link& one = *links.Find(links.Open(first, 0));
  Link& two = *links.Find(links.Open(second, 0));
  one.client = 0;
  links.WakeClients();  // the other is none
  EXPECT_THAT(links.TakeWoken(), ElementsAre(first));
  EXPECT_THAT(links.TakeWoken(), IsEmpty());
  links.End(one, {Ending::Kind::kBusy, "later"});
  links.Wake(two);
  EXPECT_THAT(links.TakeWoken(), ElementsAre(first, second));
  EXPECT_FALSE(one.client) << "who has ended is no client's";
  EXPECT_EQ(one.ending->reason, "later");
}

}  // namespace
}  // namespace polykern
