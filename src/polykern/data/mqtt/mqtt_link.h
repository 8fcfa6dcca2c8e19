#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "polykern/data/mqtt/mqtt_address.h"

namespace polykern {

struct MqttMessage {
  std::uint64_t id = 0;  ///< the broker's: one that it sends again has the same
  std::string payload = {};
  bool first = false;  ///< on its connection: what may come again comes before all else
};

/// A connection to a broker of MQTT 3.1.1 that loses nothing (QoS 1): what was received is
/// acknowledged when that is asked for, what is published is with the broker when the call returns.
/// A broker that goes away is waited for, and its session resumes. Made with libmosquitto, which is
/// loaded when the first of these is made. Use it from one thread.
class MqttLink {
 public:
  /// For people, when the broker goes away or comes back.
  using Tell = std::function<void(const std::string& line)>;

  /// `client` names this end, and its session at the broker: no other client may use it. With
  /// `subscribes` it receives what is published to the topic, also while it was not connected.
  /// Throws Error, with what to do, if there is no libmosquitto, no broker listens, or the broker
  /// refuses; later calls throw if it refuses then.
  MqttLink(const MqttAddress& address, const std::string& client, bool subscribes, Tell tell);
  ~MqttLink();
  MqttLink(const MqttLink&) = delete;
  MqttLink& operator=(const MqttLink&) = delete;

  /// Acknowledges what was received before, and waits for the next.
  MqttMessage Receive();
  /// Returns when the broker has it.
  void Publish(const std::string& payload);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace polykern
