#include "command_tree.h"

#include <algorithm>

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
  std::string names;
  for (const CLI::App* inner : command.get_subcommands([](const CLI::App*) { return true; })) {
    names += (names.empty() ? "" : ", ") + inner->get_name();
  }
  return names;
}

std::string CommandText(const std::vector<const CLI::App*>& commands) {
  std::string text = "polykern";
  for (const CLI::App* command : commands) text += " " + command->get_name();
  return text;
}

}  // namespace polykern
