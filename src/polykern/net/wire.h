#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "polykern/algorithms/messages.h"
#include "polykern/core/metrics.h"
#include "polykern/net/configuration.h"

namespace polykern {

/// The messages of proto/polykern/v1/federation.proto as plain structs, to bytes and back. Pure
/// functions; any thread may call anything. Decoding takes any bytes: what is not a message throws
/// Error, and nothing is trusted beyond its form (CheckUpdates and ApplyModel do the rest).

/// Both sides speak the same one. Versions 1 to 4 went over gRPC.
inline constexpr std::uint32_t kProtocolVersion = 5;

struct Hello {
  std::uint32_t version = kProtocolVersion;
  std::uint64_t next_step = 0;  ///< the first step that the client has not answered
  std::string mask_key = {};    ///< with which it masks its messages, signed; empty: it has none
  std::string program = {};     ///< its version, for people; empty: it does not say
};

/// A new step: what changed in the model since the last message on the same connection.
struct ModelChange {
  std::uint64_t step = 0;
  bool finished = false;                   ///< no more updates are taken
  std::vector<std::uint32_t> blocks = {};  ///< distinct
  std::vector<float> values = {};          ///< blocks x width
  std::vector<double> weights = {};        ///< as in Broadcast, all of them
  std::vector<std::uint32_t> turn = {};    ///< as in Broadcast
  std::uint64_t counted = 0;   ///< 1 + the last step whose update of this client counted; 0: none,
                               ///< or updates are not sums
  std::uint64_t releases = 0;  ///< as in Broadcast
};

struct Welcome {
  std::uint32_t version = kProtocolVersion;
  std::uint64_t client = 0;
  ConfigurationTexts configuration = {};
  ModelChange model = {};       ///< with every block
  std::uint64_t answered = 0;   ///< 1 + the last step whose update is on the server's disk; 0: none
  bool uses_late = false;       ///< updates for earlier steps count, too
  bool has_ranges = false;      ///< while ranges are learnt: the server has those of this client
  std::string helper_key = {};  ///< of who takes masks off, signed; empty: nothing is masked
};

/// What became of an update.
struct Verdict {
  std::uint64_t step = 0;
  bool accepted = false;    ///< it counts, and is on the server's disk
  std::string reason = {};  ///< why it was rejected
};

struct Busy {
  std::uint32_t earliest_milliseconds = 0;
  std::uint32_t latest_milliseconds = 0;
  std::string reason = {};
};

/// Updates are those of one client, whose number is left 0: the connection tells who it is.
using ClientMessage = std::variant<Hello, Updates, ClientReport, ClientRanges>;
using ServerMessage = std::variant<Welcome, ModelChange, Verdict, Busy>;

std::string Encode(const Hello& hello);
/// Of one client; its number and probability are not sent.
std::string Encode(const Updates& updates);
std::string Encode(const ClientReport& report);
std::string Encode(const ClientRanges& ranges);
std::string Encode(const Welcome& welcome);
std::string Encode(const ModelChange& change);
/// The same message with ModelChange::counted, which is different for every client.
std::string WithCounted(std::string_view change, std::uint64_t counted);
std::string Encode(const Verdict& verdict);
std::string Encode(const Busy& busy);

ClientMessage DecodeClientMessage(std::string_view bytes);
ServerMessage DecodeServerMessage(std::string_view bytes);

/// A hello may have a certificate in it.
inline constexpr std::size_t kLongestHello = 4096;
/// No message of a client is longer, but for its ranges.
std::size_t LongestClientMessage(const ModelShape& shape);
/// Nor are the ranges of so many inputs.
std::size_t LongestRanges(std::size_t inputs);

/// The blocks of `now` given by `blocks`.
ModelChange TakeBlocks(const ModelShape& shape, const Broadcast& now,
                       std::vector<std::uint32_t> blocks);

/// Brings a broadcast up to date; an empty one needs a change with every block. Throws Error, and
/// changes nothing, if the change does not fit the shape or holds a number that is not finite.
void ApplyModel(const ModelShape& shape, const ModelChange& change, Broadcast& broadcast);

}  // namespace polykern
