#include "command_line.h"

#include <algorithm>
#include <iostream>

#include "command_tree.h"
#include "config_file.h"
#include "polykern/core/error.h"
#include "polykern/core/text.h"

namespace polykern {
namespace {

constexpr int kWrongCommandLine = 2;  // the units' RestartPreventExitStatus

/// What is left over of a command line, and what the first of its options may have been meant for.
std::string LeftOver(const CLI::App& command, const std::vector<std::string>& rest) {
  std::string text;
  for (const std::string& argument : rest) {
    text += (text.empty() ? "" : " ") + ShellWord(argument);
  }
  for (char& c : text) c = c == '\n' ? ' ' : c;
  const auto option =
      std::ranges::find_if(rest, [](const auto& argument) { return argument.starts_with("--"); });
  if (option != rest.end()) {
    const std::string name = option->substr(0, option->find('='));
    const std::string offer = SuggestCommandWith(command, name);
    text += offer.empty() ? SuggestOption(command, name) : offer;
  }
  return text;
}

int Refuse(const std::string& what, const std::string& command) {
  std::cerr << "polykern: " << what << " (see: " << command << " --help)\n";
  return kWrongCommandLine;
}

}  // namespace

std::string TypedText(const CLI::App& program, const std::vector<std::string>& arguments) {
  std::string text = program.get_name();
  for (const std::string& argument : arguments) text += " " + ShellWord(argument);
  return text;
}

std::string Unexpected(const std::exception& error) {
  return std::string("this should not happen; please report what was done (") + error.what() + ")";
}

int RunCommandLine(CLI::App& program, std::vector<std::string> arguments, std::string& typed) {
  if (HasOneCommand(program)) arguments.insert(arguments.begin(), CommandNames(program));
  const auto chosen = FindCommands(program, arguments);
  const std::string command = CommandText(program, chosen);
  const CLI::App& innermost = chosen.empty() ? program : *chosen.back();
  const std::string inner = CommandNames(innermost);
  const bool ends = chosen.size() == arguments.size();
  if (!inner.empty() && ends) return Refuse("missing command; the commands are: " + inner, command);
  if (!inner.empty() && !arguments[chosen.size()].starts_with('-')) {
    return Refuse("there is no command '" + arguments[chosen.size()] + "'; " +
                      SuggestCommand(innermost, arguments[chosen.size()]),
                  command);
  }
  ExpandedArguments expanded;
  const auto refuse = [](const Error& error) {
    std::cerr << "polykern: " + Printable(error.Spelled(ShellSpelling)) + "\n";
    return kWrongCommandLine;
  };
  try {
    expanded = ExpandConfigFile(program, arguments);
  } catch (const Error& error) {
    return refuse(error);
  }
  try {
    typed = TypedText(program, expanded.all);
    std::ranges::reverse(expanded.all);  // CLI11 wants the last one first
    program.parse(expanded.all);
  } catch (const CLI::CallForHelp&) {
    std::cout << innermost.get_formatter()->make_help(&innermost, command,
                                                      CLI::AppFormatMode::Normal);
  } catch (const CLI::CallForVersion& version) {
    std::cout << version.what() << '\n';
  } catch (const CLI::ExtrasError&) {
    return Refuse("not expected: " + LeftOver(innermost, program.remaining(true)), command);
  } catch (const CLI::ParseError& error) {
    std::string text = error.what();
    for (char& c : text) c = c == '\n' ? ' ' : c;
    const auto file = expanded.where.find(text.substr(0, text.find(':')));
    return Refuse((file == expanded.where.end() ? "" : file->second + ": ") + text, command);
  } catch (const WrongConfiguration& error) {
    return refuse(error);
  }
  return 0;
}

}  // namespace polykern
