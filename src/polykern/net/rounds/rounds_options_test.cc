#include "polykern/net/rounds/rounds_options.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/core/error.h"

namespace polykern {
namespace {

using testing::HasSubstr;

TEST(RoundsOptionsNeed, OneAnswerWithoutRounds) {
  EXPECT_EQ((RoundsOptions{.quorum = Quorum::All(), .asynchronous = true}.Needed(9, 9)), 1U);
}

TEST(RoundsOptionsNeed, ANumberWhicheverClientsAreThere) {
  EXPECT_EQ((RoundsOptions{.quorum = {.count = 5}}.Needed(1, 2)), 5U);
}

TEST(RoundsOptionsNeed, AllOfThoseThatAreExpected) {
  const RoundsOptions options{.quorum = Quorum::All()};
  EXPECT_EQ(options.Needed(3, 7), 7U);
  EXPECT_EQ(options.Needed(0, 0), 1U);
}

TEST(RoundsOptionsNeed, AShareOfThoseThatAreThereAndNeverFewerThanTheLeast) {
  RoundsOptions options{.quorum = {.share = 0.8}, .least_clients = 4};
  EXPECT_EQ(options.Needed(10, 100), 8U);
  EXPECT_EQ(options.Needed(4, 100), 4U);
  EXPECT_EQ(options.Needed(1, 100), 4U);
  options.roster = {"a", "b", "c"};
  EXPECT_EQ(options.Needed(1, 3), 3U) << "there are no more";
}

TEST(RoundsOptionsNeed, ClientsThatCanBeConnected) {
  const RoundsOptions options{.quorum = {.count = 20}, .most_clients = 100, .most_connected = 10};
  try {
    CheckRounds(options, "pof-mkl", {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("a quorum of 20 clients can never answer: at most 10"));
  }
}

}  // namespace
}  // namespace polykern
