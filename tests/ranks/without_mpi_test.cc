// The communicator as in a build without MPI.
#include <cstdlib>

#include <gmock/gmock.h>

#include "polykern/core/error.h"
#include "polykern/sim/ranks/launch.h"

namespace polykern {
namespace {

TEST(WithoutMpi, SeveralRanksAreRefusedInOneLine) {
  for (const char* launcher : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    setenv(launcher, "2", 1);
    try {
      JoinRanks();
      ADD_FAILURE() << launcher;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("this program was built without MPI; install"));
      EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("\n")));
    }
    unsetenv(launcher);
  }
}

TEST(WithoutMpi, OneRankRunsAlone) {
  EXPECT_EQ(JoinRanks()->size(), 1U);
  setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
  EXPECT_EQ(JoinRanks()->size(), 1U);
  unsetenv("OMPI_COMM_WORLD_SIZE");
}

TEST(WithoutMpi, ALauncherTellsRankAndSize) {
  setenv("PMI_RANK", "3", 1);
  setenv("PMI_SIZE", "7", 1);
  EXPECT_EQ(FindLaunch().rank, 3U);
  EXPECT_EQ(FindLaunch().size, 7U);
  unsetenv("PMI_RANK");
  unsetenv("PMI_SIZE");
}

}  // namespace
}  // namespace polykern
