#include <algorithm>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <stdlib.h>
#include <sys/resource.h>

#include "command_line.h"
#include "command_tree.h"
#include "commands.h"
#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/sim/ranks/launch.h"
#include "rank_guard.h"
#include "version_text.h"

namespace {

/// A server's clients are open files: as many as the system allows, not as many as a shell does.
void RaiseFileLimit() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

/// Ranks that differ in what they are asked to do would wait for each other forever.
void CheckSame(polykern::Communicator& ranks, const std::string& typed) {
  std::vector<polykern::Words> all;
  ranks.AllGather({typed.begin(), typed.end()}, all);
  if (std::ranges::all_of(all, [&](const auto& words) { return words == all.front(); })) return;
  throw polykern::Error(
      "the ranks were started with different command lines; give all of them the same");
}

void AddCommands(CLI::App& program, const std::string& typed, polykern::Communicator& ranks) {
  polykern::AddRunCommand(program, typed, ranks);
  polykern::AddReproduceCommand(program, typed, ranks);
  polykern::AddReportCommand(program);
  polykern::AddDataCommand(program);
  polykern::AddFederationCommands(program);
  polykern::AddBenchCommand(program);
}

int Run(int argc, char** argv, polykern::Communicator& ranks) {
  CLI::App program(
      "polykern: many devices learn one predictor together, online, over slow links.\n"
      "Example: polykern run --clients 40 --steps 500 --out out");
  program.name("polykern");
  program.set_version_flag("--version", polykern::VersionText("polykern"));
  program.require_subcommand(0, 1);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  CheckSame(ranks, polykern::TypedText(program, arguments));
  std::string typed;
  AddCommands(program, typed, ranks);
  const auto chosen = polykern::FindCommands(program, arguments);
  if (const std::string name = chosen.empty() ? "" : chosen.front()->get_name();
      ranks.size() > 1 && !name.empty() && name != "run" && name != "reproduce") {
    throw polykern::Error("mpirun is for polykern run and polykern reproduce; start polykern " +
                          name + " without it");
  }
  return polykern::RunCommandLine(program, arguments, typed);
}

}  // namespace

int main(int argc, char** argv) {
  const polykern::Launch launch = polykern::FindLaunch();
  if (launch.size > 1) polykern::GuardRank(launch, argc, argv);
  std::unique_ptr<polykern::Communicator> ranks;
  std::string what;
  try {
    RaiseFileLimit();
    ranks = polykern::JoinRanks();
    polykern::LetRankZeroSpeak(launch);
    const int code = Run(argc, argv, *ranks);
    std::cout.flush();
    if (code == 0 && !std::cout) throw polykern::Error("standard output cannot be written to");
    return code;
  } catch (const std::bad_alloc&) {
    what = "out of memory; lower --clients, --steps, --repetitions or --features";
    if (launch.size > 1) what += ", or use more ranks";
  } catch (const polykern::Error& error) {
    what = error.Spelled(polykern::ShellSpelling);
  } catch (const std::exception& error) {
    what = polykern::Unexpected(error);
  }
  if (launch.size > 1) polykern::FailTogether(launch, ranks.get(), what);
  std::cerr << "polykern: " + polykern::Printable(what) + "\n";  // in one piece
  return 1;
}
