#pragma once

#include <string>

namespace polykern {

/// A topic at a broker of MQTT: mqtt://[USER:PASSWORD@]HOST[:PORT]/TOPIC. A plain value. Passwords
/// may have any sign; what reads as HOST:PORT/TOPIC without a user has none.
struct MqttAddress {
  std::string host = {};
  int port = 1883;
  std::string topic = {};
  std::string user = {};  ///< empty: none
  std::string password = {};

  /// For messages: without user and password.
  std::string name() const;
};

bool IsMqtt(const std::string& text);

/// Throws Error, without its password, if it is not of that form.
MqttAddress ParseMqtt(const std::string& text);

}  // namespace polykern
