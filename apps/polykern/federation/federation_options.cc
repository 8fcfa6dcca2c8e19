#include "federation/federation_options.h"

#include <cstdint>

#include "polykern/net/address.h"

namespace polykern {

CLI::Option& AddServerOption(CLI::App& command, std::string& server, const std::string& help) {
  return *command.add_option("--server", server, help)->transform([](const std::string& given) {
    return WithPorts(given);
  });
}

CLI::Option& AddKeepaliveOption(CLI::App& command, double& seconds) {
  return *command
              .add_option("--keepalive", seconds,
                          "Seconds of silence after which the other side is asked whether it is "
                          "there; as many more, and the connection is given up")
              ->check(CLI::Range(1.0, 1e6))
              ->capture_default_str();
}

std::chrono::milliseconds Milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
}

}  // namespace polykern
