#include "rank_guard.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <streambuf>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace polykern {
namespace {

/// What the process list shows of this process, so that it is not taken for the one that works.
void Rename(int argc, char** argv) {
  constexpr const char* kName = "rank-watch";
  prctl(PR_SET_NAME, kName);
  char* end = argv[argc - 1] + std::strlen(argv[argc - 1]);
  const auto room = static_cast<std::size_t>(end - argv[0]);
  std::memset(argv[0], 0, room);
  std::strncpy(argv[0], kName, room);
}

struct Silence final : std::streambuf {
  int overflow(int c) override { return c == EOF ? 0 : c; }
};

void Print(const std::string& line) {
  std::fputs(("polykern: " + line + "\n").c_str(), stderr);
}

}  // namespace

std::string RankName(const Launch& launch) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return "rank " + std::to_string(launch.rank) + " on " + host.data();
}

void GuardRank(const Launch& launch, int argc, char** argv) {
  const pid_t guard = getpid();
  const pid_t worker = fork();
  if (worker == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // the launcher knows the guard alone
    if (getppid() != guard) std::_Exit(1);
    return;
  }
  if (worker < 0) return;  // then it works without a guard
  Rename(argc, argv);
  int status = 0;
  while (waitpid(worker, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) std::_Exit(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  Print(RankName(launch) + " was killed by signal " + std::to_string(signal) + " (" +
        strsignal(signal) + ")" +
        (signal == SIGKILL ? ", as the system does when memory runs out" : "") +
        "; all ranks stop. Finished repetitions are kept in the folder "
        "of --out: the same command resumes from there");
  std::_Exit(1);
}

void LetRankZeroSpeak(const Launch& launch) {
  static Silence silence;
  if (launch.rank == 0) return;
  std::cout.rdbuf(&silence);
  std::cerr.rdbuf(&silence);
}

void FailTogether(const Launch& launch, Communicator* ranks, const std::string& what) {
  std::cout.flush();
  if (launch.rank == 0) Print(what);
  if (ranks != nullptr && !ranks->PartTogether()) {
    if (launch.rank != 0) Print(RankName(launch) + ": " + what);
    ranks->Abort();
  }
  std::_Exit(1);
}

}  // namespace polykern
