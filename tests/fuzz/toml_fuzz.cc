// Any bytes as a --config file, for a command and for one within another.

#include <cstdint>

#include <CLI/CLI.hpp>

#include "config_file.h"
#include "memory_file.h"
#include "polykern/core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const polykern::MemoryFile file;
  static CLI::App program("polykern");
  static std::string text;
  static bool flag = false;
  if (program.get_subcommands({}).empty()) {
    CLI::App& run = *program.add_subcommand("run");
    run.add_option("-k,--clients", text);
    run.add_option("--inputs", text)->delimiter(',');
    run.add_flag("--quiet", flag);
    program.add_subcommand("data")->add_subcommand("get")->add_option("--out", text);
  }
  file.Write(data, size);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"run", "--clients", "3"}, {"data", "get"}}) {
    std::vector<std::string> arguments = command;
    arguments.push_back("--config=" + file.path());
    try {
      polykern::ExpandConfigFile(program, arguments);
    } catch (const polykern::Error&) {
    }
  }
  return 0;
}
