#pragma once

#include <chrono>
#include <string>

#include <CLI/CLI.hpp>

namespace polykern {

/// Options that several commands of the real federation have.

/// --server; HOST alone means HOST:7433.
CLI::Option& AddServerOption(CLI::App& command, std::string& server, const std::string& help);

/// --keepalive, in seconds.
CLI::Option& AddKeepaliveOption(CLI::App& command, double& seconds);
std::chrono::milliseconds Milliseconds(double seconds);

}  // namespace polykern
