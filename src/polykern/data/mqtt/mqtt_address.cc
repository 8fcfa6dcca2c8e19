#include "polykern/data/mqtt/mqtt_address.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "polykern/core/error.h"

namespace polykern {
namespace {

constexpr std::string_view kMqtt = "mqtt://";

/// HOST[:PORT]/TOPIC.
std::optional<MqttAddress> ParsePlace(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == text.npos || slash + 1 == text.size()) return std::nullopt;
  MqttAddress address{.topic = std::string(text.substr(slash + 1))};
  std::string_view host = text.substr(0, slash);
  const std::size_t colon = host.rfind(':');
  if (colon != host.npos && !host.ends_with(']')) {
    const std::string_view port = host.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    const bool number = error == std::errc() && end == port.data() + port.size();
    if (!number || address.port < 1 || address.port > 65535) return std::nullopt;
    host = host.substr(0, colon);
  }
  const bool brackets = host.starts_with('[') && host.ends_with(']');
  if (brackets) host = host.substr(1, host.size() - 2);
  if (host.empty() || host.find_first_of(brackets ? "@[]" : "@[]:") != host.npos) {
    return std::nullopt;
  }
  address.host = host;
  return address;
}

}  // namespace

bool IsMqtt(const std::string& text) {
  return text.starts_with(kMqtt);
}

std::string MqttAddress::name() const {
  return std::string(kMqtt) + host + ":" + std::to_string(port) + "/" + topic;
}

MqttAddress ParseMqtt(const std::string& text) {
  const std::string_view rest = std::string_view(text).substr(kMqtt.size());
  if (const auto address = ParsePlace(rest)) return *address;
  for (std::size_t at = rest.find('@'); at != rest.npos; at = rest.find('@', at + 1)) {
    auto address = ParsePlace(rest.substr(at + 1));
    if (!address) continue;  // that one is the password's
    const std::string_view who = rest.substr(0, at);
    const std::size_t colon = who.find(':');
    address->user = who.substr(0, colon);
    if (colon != who.npos) address->password = who.substr(colon + 1);
    return *address;
  }
  const std::string_view place = rest.substr(rest.rfind('@') + 1);  // npos + 1 is 0
  throw Error(std::string(kMqtt) + std::string(place.substr(0, place.find_first_of("/:"))) +
              "..: not of the form mqtt://[USER:PASSWORD@]HOST[:PORT]/TOPIC");
}

}  // namespace polykern
