#include <exception>
#include <iostream>
#include <new>
#include <string>

#include <CLI/CLI.hpp>

#include "command_line.h"
#include "commands.h"
#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "version_text.h"

/// What `polykern join` does, in a small program.
int main(int argc, char** argv) {
  std::string what;
  try {
    CLI::App program;
    program.name("polykern-agent");
    polykern::AddJoinCommand(program, "polykern-agent");
    program.get_subcommand("join")->set_version_flag("--version",
                                                     polykern::VersionText("polykern-agent"));
    std::string typed;
    const int code = polykern::RunCommandLine(program, {argv + 1, argv + argc}, typed);
    std::cout.flush();
    if (code == 0 && !std::cout) throw polykern::Error("standard output cannot be written to");
    return code;
  } catch (const std::bad_alloc&) {
    what = "out of memory; end other programs, or give this one more";
  } catch (const polykern::Error& error) {
    what = error.Spelled(polykern::ShellSpelling);
  } catch (const std::exception& error) {
    what = polykern::Unexpected(error);
  }
  std::cerr << "polykern: " + polykern::Printable(what) + "\n";  // in one piece
  return 1;
}
