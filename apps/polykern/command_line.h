#pragma once

#include <exception>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "polykern/core/error.h"

namespace polykern {

/// What a service was told is wrong: it is of no use to start it again before that is mended.
class WrongConfiguration : public Error {
 public:
  using Error::Error;
};

/// The command line as a user can type it again.
std::string TypedText(const CLI::App& program, const std::vector<std::string>& arguments);

/// What to say of an exception that no command expects.
std::string Unexpected(const std::exception& error);

/// Runs the command that the arguments name; a program with one command alone does not ask for its
/// name. Help and version go to standard output. Returns 0, or 2 after a line on standard error
/// that says what is wrong with the arguments, or in WrongConfiguration; throws what else the
/// command does. `typed` is the whole command line before the command runs, with what stands in a
/// file of --config.
int RunCommandLine(CLI::App& program, std::vector<std::string> arguments, std::string& typed);

}  // namespace polykern
