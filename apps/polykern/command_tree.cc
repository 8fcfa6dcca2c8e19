#include "command_tree.h"

#include <algorithm>

#include "polykern/core/text.h"

namespace polykern {

std::vector<const CLI::App*> FindCommands(const CLI::App& program,
                                          const std::vector<std::string>& arguments) {
  std::vector<const CLI::App*> found;
  const CLI::App* outer = &program;
  for (const std::string& argument : arguments) {
    const auto commands = outer->get_subcommands([](const CLI::App*) { return true; });
    const auto inner = std::ranges::find(commands, argument, &CLI::App::get_name);
    if (inner == commands.end()) break;
    outer = *inner;
    found.push_back(outer);
  }
  return found;
}

std::string CommandNames(const CLI::App& command) {
  return Joined(command.get_subcommands([](const CLI::App*) { return true; }), ", ",
                &CLI::App::get_name);
}

bool HasOneCommand(const CLI::App& program) {
  return program.get_subcommands([](const CLI::App*) { return true; }).size() == 1;
}

std::string CommandText(const CLI::App& program, const std::vector<const CLI::App*>& commands) {
  std::string text = program.get_name();
  if (HasOneCommand(program)) return text;
  for (const CLI::App* command : commands) text += " " + command->get_name();
  return text;
}

std::string SuggestCommand(const CLI::App& command, const std::string& wanted) {
  std::vector<std::string> names;
  for (const CLI::App* each : command.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(each->get_name());
  }
  const std::string offer = Suggest(wanted, names);
  return offer.starts_with("did you mean") ? offer : "the commands are: " + CommandNames(command);
}

std::string SuggestCommandWith(const CLI::App& command, const std::string& option) {
  for (const CLI::App* each : command.get_subcommands([](const CLI::App*) { return true; })) {
    if (each->get_option_no_throw(option) != nullptr) {
      return "; a command comes first, as in: " + command.get_name() + " " + each->get_name() +
             " " + option;
    }
  }
  return "";
}

std::string SuggestOption(const CLI::App& command, const std::string& wanted) {
  const std::string dashes = wanted.starts_with("--") ? "--" : "";
  std::vector<std::string> nearest;
  std::size_t least = wanted.size();
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      const std::size_t distance = EditDistance(wanted, dashes + name);
      if (distance > least) continue;
      if (distance < least) nearest.clear();
      least = distance;
      nearest.push_back(dashes + name);
    }
  }
  const std::string offer = Suggest(wanted, nearest);
  return offer.starts_with("did you mean") ? "; " + offer : "";
}

}  // namespace polykern
