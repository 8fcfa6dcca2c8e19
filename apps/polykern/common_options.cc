#include "common_options.h"

#include <charconv>
#include <cstdint>

#include "polykern/core/text.h"
#include "polykern/data/source.h"
#include "polykern/net/address.h"

namespace polykern {
namespace {

std::string ButAList(const std::string& text) {
  return text.find(',') == std::string::npos ? "" : ", but a list";
}

}  // namespace

CLI::Validator AnyNumber() {
  const auto check = [](const std::string& text) {
    double value = 0;
    return ReadExact(text, value) ? std::string()
                                  : "'" + text + "' is not a number" + ButAList(text);
  };
  return {check, ""};
}

CLI::Validator WholeNumber(std::size_t least) {
  const auto check = [least](const std::string& text) {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool good = error == std::errc() && end == text.data() + text.size() && value >= least;
    return good ? std::string()
                : "'" + text + "' is not a whole number of at least " + std::to_string(least) +
                      ButAList(text);
  };
  return {check, ""};
}

void AddFileFormOptions(CLI::App& command, char& delimiter, char& decimal) {
  command
      .add_option_function<std::string>(
          "--delimiter",
          [&delimiter](const std::string& name) { delimiter = ParseDelimiter(name); },
          "CSV: what divides cells, a character or tab, semicolon, comma, blank (default: a guess)")
      ->group("Data");
  command
      .add_option_function<std::string>(
          "--decimal", [&decimal](const std::string& name) { decimal = ParseDecimal(name); },
          "CSV: what stands before a fraction, . or , (default: .)")
      ->group("Data");
}

void AddConfigOption(CLI::App& command) {
  command.add_option(
      "--config",
      "TOML file with options, at the top or in the command's table; the command line wins");
}

CLI::Option& AddServerOption(CLI::App& command, std::string& server, const std::string& help) {
  return *command.add_option("--server", server, help)->transform([](const std::string& given) {
    return WithPort(given);
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
