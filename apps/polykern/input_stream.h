#pragma once

#include <istream>
#include <memory>
#include <string>

namespace polykern {

/// Where samples come from: "-" is standard input, tcp://HOST:PORT what a program there sends after
/// we connect, anything else a file. Owned by the caller, but for standard input. Throws Error.
std::shared_ptr<std::istream> OpenInput(const std::string& what);

}  // namespace polykern
