#pragma once

#include <cstdint>
#include <string>

namespace polykern {

/// Why a connection is ended, and how the other side sees that it ended. A plain value.
struct Ending {
  enum class Kind {
    kLost,      ///< for no stated reason: no connection, no TLS, or it was cut
    kNotOurs,   ///< the other side is not a polykern server
    kFinished,  ///< there is nothing more to say
    kStopping,  ///< the server stops
    kRefused,   ///< not allowed in, and reconnecting will not help
    kVersion,   ///< speaks another version of the protocol
    kBusy,      ///< come back later
    kReplaced,  ///< the same client has a newer connection
    kBroken,    ///< what it sends is not a message
    kSilent,    ///< it said no hello
  };
  Kind kind = Kind::kRefused;
  std::string reason = {};
};

/// The code of a WebSocket's close frame (docs/develop/protocol.md), and back: what is unknown is
/// kLost.
std::uint16_t CloseCodeOf(Ending::Kind kind);
Ending::Kind KindOf(std::uint16_t close_code);

}  // namespace polykern
