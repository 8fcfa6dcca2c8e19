#include "polykern/net/pki/dates.h"

#include <array>
#include <ctime>

namespace polykern {
namespace {

std::string FormatTime(std::int64_t seconds, const char* format) {
  const std::time_t time = seconds;
  std::tm parts{};
  std::array<char, 64> text{};
  if (gmtime_r(&time, &parts) == nullptr) return "?";
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

}  // namespace

std::string DateText(std::int64_t seconds) {
  return FormatTime(seconds, "%Y-%m-%d");
}

std::string TimeText(std::int64_t seconds) {
  return FormatTime(seconds, "%Y-%m-%d %H:%M:%S");
}

}  // namespace polykern
