#include "polykern/data/mqtt/mqtt_address.h"

#include <charconv>
#include <string_view>

#include "polykern/core/error.h"

namespace polykern {
namespace {

constexpr std::string_view kMqtt = "mqtt://";

}  // namespace

bool IsMqtt(const std::string& text) {
  return text.starts_with(kMqtt);
}

std::string MqttAddress::name() const {
  return std::string(kMqtt) + host + ":" + std::to_string(port) + "/" + topic;
}

MqttAddress ParseMqtt(const std::string& text) {
  MqttAddress address;
  std::string_view rest = std::string_view(text).substr(kMqtt.size());
  const std::size_t slash = rest.find('/', rest.find('@') == std::string_view::npos
                                               ? 0
                                               : rest.find('@'));  // a password may have some
  std::string_view place = rest.substr(0, slash);
  if (const std::size_t at = place.rfind('@'); at != std::string_view::npos) {
    const std::string_view who = place.substr(0, at);
    const std::size_t colon = who.find(':');
    address.user = who.substr(0, colon);
    if (colon != std::string_view::npos) address.password = who.substr(colon + 1);
    place.remove_prefix(at + 1);
  }
  bool good = slash != std::string_view::npos;
  if (good) address.topic = rest.substr(slash + 1);
  if (const std::size_t colon = place.rfind(':');
      colon != std::string_view::npos && !place.ends_with(']')) {
    const std::string_view port = place.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    good = good && error == std::errc() && end == port.data() + port.size() && address.port > 0 &&
           address.port < 65536;
    place = place.substr(0, colon);
  }
  if (place.starts_with('[') && place.ends_with(']')) place = place.substr(1, place.size() - 2);
  address.host = place;
  if (!good || address.host.empty() || address.topic.empty()) {
    throw Error(std::string(kMqtt) + std::string(place) +
                "..: not of the form mqtt://[USER:PASSWORD@]HOST[:PORT]/TOPIC");
  }
  return address;
}

}  // namespace polykern
