#include <algorithm>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <stdlib.h>
#include <sys/resource.h>

#include "command_tree.h"
#include "commands.h"
#include "config_file.h"
#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/core/version.h"
#include "polykern/sim/ranks/launch.h"
#include "rank_guard.h"

namespace {

constexpr int kWrongCommandLine = 2;

/// A server's clients are open files: as many as the system allows, not as many as a shell does.
void RaiseFileLimit() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

/// The command line as a user can type it again.
std::string Typed(const std::vector<std::string>& arguments) {
  std::string text = "polykern";
  for (const std::string& argument : arguments) text += " " + polykern::ShellWord(argument);
  return text;
}

/// What is left over of a command line, and what the first of its options may have been meant for.
std::string Unexpected(const CLI::App& command, const std::vector<std::string>& rest) {
  std::string text;
  for (const std::string& argument : rest) {
    text += (text.empty() ? "" : " ") + polykern::ShellWord(argument);
  }
  for (char& c : text) c = c == '\n' ? ' ' : c;
  const auto option =
      std::ranges::find_if(rest, [](const auto& argument) { return argument.starts_with("--"); });
  if (option != rest.end()) {
    text += polykern::SuggestOption(command, option->substr(0, option->find('=')));
  }
  return text;
}

/// Ranks that differ in what they are asked to do would wait for each other forever.
void CheckSame(polykern::Communicator& ranks, const std::vector<std::string>& arguments) {
  const std::string typed = Typed(arguments);
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
  polykern::AddServeCommand(program);
  polykern::AddJoinCommand(program);
  polykern::AddStatusCommand(program);
  polykern::AddHelperCommand(program);
  polykern::AddLoadCommand(program);
  polykern::AddPkiCommand(program);
  polykern::AddStoreCommand(program);
  polykern::AddBenchCommand(program);
}

int Run(int argc, char** argv, polykern::Communicator& ranks) {
  CLI::App program(
      "polykern: many devices learn one predictor together, online, over thin links.\n"
      "Example: polykern run --clients 40 --steps 500 --out out");
  program.name("polykern");
  program.set_version_flag("--version", std::string("polykern ") + polykern::Version());
  program.require_subcommand(0, 1);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  CheckSame(ranks, arguments);
  std::string typed;
  AddCommands(program, typed, ranks);
  const auto chosen = polykern::FindCommands(program, arguments);
  const std::string command = polykern::CommandText(chosen);
  const CLI::App& innermost = chosen.empty() ? program : *chosen.back();
  const std::string inner = polykern::CommandNames(innermost);
  const bool ends = chosen.size() == arguments.size();
  if (!inner.empty() && (ends || !arguments[chosen.size()].starts_with('-'))) {
    std::cerr << "polykern: "
              << (ends ? "missing command"
                       : "there is no command '" + arguments[chosen.size()] + "'")
              << "; the commands are: " << inner << " (see: " << command << " --help)\n";
    return kWrongCommandLine;
  }
  if (const std::string name = chosen.empty() ? "" : chosen.front()->get_name();
      ranks.size() > 1 && !name.empty() && name != "run" && name != "reproduce") {
    throw polykern::Error("mpirun is for polykern run and polykern reproduce; start polykern " +
                          name + " without it");
  }
  try {
    arguments = polykern::ExpandConfigFile(program, arguments);
    typed = Typed(arguments);
    std::ranges::reverse(arguments);  // CLI11 wants the last one first
    program.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    const std::size_t outer = command.rfind(' ');
    std::cout << innermost.help(chosen.empty() ? "" : command.substr(0, outer));
  } catch (const CLI::CallForVersion& version) {
    std::cout << version.what() << '\n';
  } catch (const CLI::ExtrasError&) {
    std::cerr << "polykern: not expected: " << Unexpected(innermost, program.remaining(true))
              << " (see: " << command << " --help)\n";
    return kWrongCommandLine;
  } catch (const CLI::ParseError& error) {
    std::string text = error.what();
    for (char& c : text) c = c == '\n' ? ' ' : c;
    std::cerr << "polykern: " << text << " (see: " << command << " --help)\n";
    return kWrongCommandLine;
  }
  return 0;
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
    what = error.what();
  }
  if (launch.size > 1) polykern::FailTogether(launch, ranks.get(), what);
  std::cerr << "polykern: " << polykern::Printable(what) << '\n';
  return 1;
}
