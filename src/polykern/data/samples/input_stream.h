#pragma once

#include <istream>
#include <memory>
#include <string>

namespace polykern {

/// What an input is called in messages.
std::string InputName(const std::string& what);

enum class InputKind {
  kFile,    ///< can be read again; standard input too, if it is redirected from one
  kNamed,   ///< waits for its reader, but can be read once: a pipe with a name, a broker
  kStream,  ///< what comes, comes when it wants to
};
InputKind KindOf(const std::string& what);

/// Where samples come from: "-" is standard input, tcp://HOST:PORT what a program there sends after
/// we connect, anything else a file. Owned by the caller. Throws Error; the stream's buffer
/// throws std::ios_base::failure when it cannot read on.
std::shared_ptr<std::istream> OpenInput(const std::string& what);

}  // namespace polykern
