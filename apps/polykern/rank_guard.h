#pragma once

#include <string>

#include "polykern/sim/ranks/communicator.h"
#include "polykern/sim/ranks/launch.h"

namespace polykern {

/// Who speaks when a rank does: "rank 2 on node7".
std::string RankName(const Launch& launch);

/// Of a process that is one of several ranks: continues in a child process, which this one waits
/// for. It returns in that process alone. If that one is ended by a signal (killed by a user, or
/// by the system when memory runs out), this one names rank and signal on standard error and exits
/// with 1, upon which the launcher ends all ranks. To be called before there are threads.
void GuardRank(const Launch& launch, int argc, char** argv);

/// Lets no other rank than 0 print to std::cout and std::cerr.
void LetRankZeroSpeak(const Launch& launch);

/// Says what went wrong and ends all ranks with exit code 1. A mistake that all ranks find within a
/// second is told by rank 0 alone.
[[noreturn]] void FailTogether(const Launch& launch, Communicator* ranks, const std::string& what);

}  // namespace polykern
