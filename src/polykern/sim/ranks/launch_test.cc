#include "polykern/sim/ranks/launch.h"

#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace polykern {
namespace {

/// What launchers tell the processes that they start.
constexpr const char* kVariables[] = {
    "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "PMIX_RANK",
    "SLURM_STEP_NUM_TASKS"};

/// The launch of a process with these of the variables, and none else. Puts back what there was.
Launch LaunchWith(const std::map<std::string, std::string>& told) {
  std::map<std::string, std::optional<std::string>> before;
  for (const char* name : kVariables) {
    const char* const value = std::getenv(name);
    before[name] = value == nullptr ? std::nullopt : std::optional<std::string>(value);
    unsetenv(name);
  }
  for (const auto& [name, value] : told) setenv(name.c_str(), value.c_str(), 1);
  const Launch launch = FindLaunch();
  for (const auto& [name, value] : before) {
    if (value) {
      setenv(name.c_str(), value->c_str(), 1);
    } else {
      unsetenv(name.c_str());
    }
  }
  return launch;
}

MATCHER_P2(IsRank, rank, size, "") {
  return arg.rank == static_cast<std::size_t>(rank) && arg.size == static_cast<std::size_t>(size);
}

TEST(FindLaunch, IsAloneWithoutALauncher) {
  EXPECT_THAT(LaunchWith({}), IsRank(0, 1));
}

TEST(FindLaunch, KnowsTheLaunchersThatThereAre) {
  EXPECT_THAT(LaunchWith({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "5"}}),
              IsRank(2, 5));  // Open MPI's mpirun
  EXPECT_THAT(LaunchWith({{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}}), IsRank(1, 3));  // MPICH's
  EXPECT_THAT(LaunchWith({{"PMIX_RANK", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}}), IsRank(3, 4));
}

/// A job of a cluster tells the number of its tasks to programs that it does not start as ranks.
TEST(FindLaunch, IsAloneInsideAJobThatDidNotStartIt) {
  EXPECT_THAT(LaunchWith({{"SLURM_STEP_NUM_TASKS", "8"}}), IsRank(0, 1));
}

/// mpirun inside a job of a cluster: both have told something.
TEST(FindLaunch, BelievesTheInnermostLauncher) {
  EXPECT_THAT(LaunchWith({{"OMPI_COMM_WORLD_RANK", "1"},
                          {"OMPI_COMM_WORLD_SIZE", "2"},
                          {"PMIX_RANK", "1"},
                          {"SLURM_STEP_NUM_TASKS", "1"}}),
              IsRank(1, 2));
}

}  // namespace
}  // namespace polykern
