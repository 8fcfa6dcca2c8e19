#include "config_file.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "command_tree.h"
#include "polykern/core/error.h"

namespace polykern {
[[noreturn]] static void NotToml() {
  throw Error("not TOML, in a way that cannot be said better");
}
}  // namespace polykern

// toml++ asserts, or even assumes, what some files do not keep ("[$]"): here that is a file's
// mistake like any other. So it comes from its headers; the library would end the program.
#undef NDEBUG
#define TOML_HEADER_ONLY 1
#define TOML_ASSERT(expr) ((expr) ? void() : polykern::NotToml())
#include <toml++/toml.h>

namespace polykern {
namespace {

std::string Where(const std::string& path, const toml::node& node) {
  return path + ", line " + std::to_string(node.source().begin.line);
}

toml::table ParseFile(std::istream& file, const std::string& path) {
  try {
    return toml::parse(file, path);
  } catch (const toml::parse_error& error) {
    throw Error(path + ", line " + std::to_string(error.source().begin.line) + ": " +
                std::string(error.description()));
  } catch (const Error& error) {  // an assertion
    throw Error(path + ": " + error.what());
  }
}

/// The text a user would type after the option.
std::string AsArgument(const std::string& path, const std::string& key, const toml::node& node) {
  if (const auto* list = node.as_array()) {
    std::string text;
    for (const auto& item : *list) {
      text += (text.empty() ? "" : ",") + AsArgument(path, key, item);
    }
    return text;
  }
  std::ostringstream text;
  if (node.is_string()) {
    text << node.as_string()->get();
  } else if (node.is_integer()) {
    text << node.as_integer()->get();
  } else if (node.is_floating_point()) {
    text.precision(17);
    text << node.as_floating_point()->get();
  } else if (node.is_boolean()) {
    text << (node.as_boolean()->get() ? "true" : "false");
  } else {
    throw Error(Where(path, node) + ": '" + key +
                "' must be a number, a text, true, false or a list");
  }
  return text.str();
}

/// Does the command line itself set this option, by any of its names?
bool IsGiven(const CLI::Option& option, const std::vector<std::string>& arguments) {
  return std::ranges::any_of(arguments, [&](const std::string& argument) {
    for (const auto& name : option.get_lnames()) {
      if (argument == "--" + name || argument.starts_with("--" + name + "=")) return true;
    }
    for (const auto& name : option.get_snames()) {
      if (argument.starts_with("-" + name)) return true;
    }
    return false;
  });
}

/// The options of one table, as arguments; what is set already, by name, is left out. `depth` of
/// the commands, from the outside in, the table belongs to.
void AppendOptions(const std::string& path, const toml::table& table, const CLI::App& outer,
                   const std::vector<const CLI::App*>& commands, std::size_t depth,
                   std::vector<std::string>& arguments) {
  // The command's own table first: it wins over what stands further out.
  if (depth < commands.size()) {
    const toml::node* inner = table.get(commands[depth]->get_name());
    if (inner != nullptr && inner->is_table()) {
      AppendOptions(path, *inner->as_table(), *commands[depth], commands, depth + 1, arguments);
    }
  }
  const std::vector<std::string> set = arguments;
  for (const auto& [toml_key, node] : table) {
    const std::string key(toml_key.str());
    if (node.is_table() && !FindCommands(outer, {key}).empty()) continue;
    const CLI::Option* option = commands.back()->get_option_no_throw("--" + key);
    if (option == nullptr || key == "config" || key == "help") {
      const std::string command = CommandText(commands);
      throw Error(Where(path, node) + ": '" + key + "' is not an option of " + command +
                  " (see: " + command + " --help)");
    }
    if (!IsGiven(*option, set)) arguments.push_back("--" + key + "=" + AsArgument(path, key, node));
  }
}

}  // namespace

std::vector<std::string> ExpandConfigFile(const CLI::App& program,
                                          const std::vector<std::string>& arguments) {
  const std::vector<const CLI::App*> commands = FindCommands(program, arguments);
  std::string path;
  std::vector<std::string> typed;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--config") {
      if (i + 1 == arguments.size()) throw Error("--config needs the name of a TOML file");
      path = arguments[++i];
    } else if (arguments[i].starts_with("--config=")) {
      path = arguments[i].substr(std::string("--config=").size());
    } else {
      typed.push_back(arguments[i]);
    }
  }
  if (commands.empty() || path.empty()) return arguments;
  std::ifstream file(path);
  if (!file) throw Error("--config " + path + ": there is no such file, or it cannot be read");
  const toml::table table = ParseFile(file, path);
  AppendOptions(path, table, program, commands, 0, typed);
  return typed;
}

}  // namespace polykern
