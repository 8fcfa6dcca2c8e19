#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "commands.h"
#include "config_file.h"
#include "options.h"
#include "polykern/core/error.h"
#include "polykern/sim/result.h"

namespace {

constexpr int kFailed = 1;
constexpr int kWrongCommandLine = 2;

/// The command line as a user can type it again.
std::string Typed(const std::vector<std::string>& arguments) {
  std::string text = "polykern";
  for (const std::string& argument : arguments) {
    const bool plain = !argument.empty() &&
                       argument.find_first_of(" '\"\\$&|;<>()[]{}*?#~`!\n\t") == std::string::npos;
    text += ' ';
    if (!plain) text += '\'';
    for (const char c : argument) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    if (!plain) text += '\'';
  }
  return text;
}

std::string CommandNames(const CLI::App& program) {
  std::string names;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  return names;
}

int Run(int argc, char** argv) {
  CLI::App program(
      "polykern: many devices learn one predictor together, online, over thin links.\n"
      "Example: polykern run --clients 40 --steps 500 --out out");
  program.name("polykern");
  program.set_version_flag("--version", std::string("polykern ") + polykern::Version());
  program.require_subcommand(0, 1);
  std::vector<std::string> arguments(argv + 1, argv + argc);
  std::string typed;
  polykern::AddRunCommand(program, typed);
  if (arguments.empty() || (!arguments.front().starts_with('-') &&
                            polykern::FindCommand(program, arguments.front()) == nullptr)) {
    std::cerr << "polykern: "
              << (arguments.empty() ? "say what to do"
                                    : "there is no command '" + arguments.front() + "'")
              << "; the commands are: " << CommandNames(program) << " (see: polykern --help)\n";
    return kWrongCommandLine;
  }
  try {
    arguments = polykern::ExpandConfigFile(program, arguments);
    typed = Typed(arguments);
    std::ranges::reverse(arguments);  // CLI11 wants the last one first
    program.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = program.get_subcommands();
    std::cout << (chosen.empty() ? program.help() : chosen.front()->help(program.get_name()));
  } catch (const CLI::CallForVersion& version) {
    std::cout << version.what() << '\n';
  } catch (const CLI::ParseError& error) {
    const auto chosen = program.get_subcommands();
    const std::string command = chosen.empty() ? "" : " " + chosen.front()->get_name();
    std::string text = error.what();
    for (char& c : text) c = c == '\n' ? ' ' : c;
    std::cerr << "polykern: " << text << " (see: polykern" << command << " --help)\n";
    return kWrongCommandLine;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = Run(argc, argv);
    std::cout.flush();
    if (code == 0 && !std::cout) throw polykern::Error("standard output cannot be written to");
    return code;
  } catch (const polykern::Error& error) {
    std::cerr << "polykern: " << error.what() << '\n';
  } catch (const std::bad_alloc&) {
    std::cerr << "polykern: out of memory; lower --clients, --steps, --repetitions or --features\n";
  } catch (const std::exception& error) {
    std::cerr << "polykern: " << error.what() << '\n';
  }
  return kFailed;
}
