#pragma once

#include <istream>
#include <memory>
#include <string>

#include "polykern/data/mqtt/mqtt_link.h"
#include "polykern/io/input_position.h"

namespace polykern {

/// Samples that are published to a topic, one JSON object in each message, as lines. A message is
/// acknowledged when the line after it is asked for: by then the reader has finished with it, and
/// has kept what it must. What is not acknowledged comes again, after any crash of either side; of
/// that, what was done with is passed over. Never ends. Use it from one thread.
class MqttInput : public std::istream {
 public:
  /// As MqttLink, whose errors the constructor throws; later ones end the input, as
  /// std::ios_base::failure.
  MqttInput(const MqttAddress& address, const std::string& client, MqttLink::Tell tell);
  ~MqttInput() override;

  /// Puts what was read last into a position, which is to be kept with what was learnt from it.
  void Mark(InputPosition& position) const;
  /// The position that an earlier process has kept.
  void Resume(const InputPosition& position);

 private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace polykern
