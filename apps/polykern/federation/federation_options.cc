#include "federation/federation_options.h"

#include <charconv>
#include <cstdint>
#include <string_view>

#include "federation/configured.h"
#include "polykern/core/error.h"
#include "polykern/net/address.h"

namespace polykern {

CLI::Option& AddServerOption(CLI::App& command, std::string& server, const std::string& help) {
  return *command.add_option("--server", server, help)->transform([](const std::string& given) {
    return Configured([&given] { return WithPorts(given); });
  });
}

CLI::Option& AddKeepaliveOption(CLI::App& command, double& seconds) {
  return *command
              .add_option("--keepalive", seconds,
                          "Seconds of silence after which the other side is pinged; "
                          "after as many more, the connection is closed")
              ->check(CLI::Range(1.0, 1e6))
              ->capture_default_str();
}

std::chrono::milliseconds Milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
}

CLI::Option& AddTimeOption(CLI::App& command, const char* name, std::int64_t& seconds,
                           const std::string& help) {
  const auto read = [name, &seconds](const std::string& text) {
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
    const std::int64_t of_unit = unit == "s"   ? 1
                                 : unit == "m" ? 60
                                 : unit == "h" ? 3600
                                 : unit == "d" ? 86'400
                                               : 0;
    constexpr std::int64_t kMost = std::int64_t{36'500} * 86'400;
    if (error != std::errc() || of_unit == 0 || number < 1 || number > kMost / of_unit) {
      throw Error(std::string(name) + " '" + text +
                  "' is not a duration; write it like 90s, 2m, 12h or 30d");
    }
    seconds = number * of_unit;
  };
  return *command.add_option_function<std::string>(name, read, help)->type_name("TIME");
}

}  // namespace polykern
