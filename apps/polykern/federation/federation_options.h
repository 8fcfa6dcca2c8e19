#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

namespace polykern {

/// Options that several commands of the real federation have.

/// --server; HOST alone means HOST:7433.
CLI::Option& AddServerOption(CLI::App& command, std::string& server, const std::string& help);

/// --keepalive, in seconds.
CLI::Option& AddKeepaliveOption(CLI::App& command, double& seconds);
std::chrono::milliseconds Milliseconds(double seconds);

/// A time like 90s, 2m, 12h or 30d, in seconds.
CLI::Option& AddTimeOption(CLI::App& command, const char* name, std::int64_t& seconds,
                           const std::string& help);

}  // namespace polykern
