#include "common_options.h"

#include <charconv>

#include "polykern/core/text.h"
#include "polykern/data/source.h"

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
          "CSV: delimiter, a character or tab, semicolon, comma, blank (default: a guess)")
      ->group("Data");
  command
      .add_option_function<std::string>(
          "--decimal", [&decimal](const std::string& name) { decimal = ParseDecimal(name); },
          "CSV: decimal mark, . or , (default: .)")
      ->group("Data");
}

void AddConfigOption(CLI::App& command) {
  command.add_option(
      "--config",
      "TOML file with options, at the top or in the command's table; the command line wins");
}

}  // namespace polykern
