#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "polykern/algorithms/messages.h"
#include "polykern/privacy/mask_stream.h"
#include "polykern/privacy/noise_terms.h"

namespace polykern {

/// What a server asks its helper for. Plain values.

/// A Contribution (messages.h) of a client that has a name.
struct NamedContribution {
  std::string client = {};
  std::uint64_t step = 0;
  std::uint64_t releases = 0;
  SampleCount count = {};
  std::uint64_t new_unknowns = 0;
  MaskNonce nonce = {};

  bool operator==(const NamedContribution&) const = default;
};

/// A release: the sum of these messages and of no others is to be unmasked.
struct ReleaseRequest {
  std::string federation = {};
  std::uint64_t epoch = 0;
  std::uint64_t number = 0;  ///< 0, 1, 2, ... in an epoch
  std::uint32_t kind = 0;    ///< of sums
  std::uint64_t numbers = 0;
  Ring ring = {};
  NoiseTerms noise = {};  ///< what was promised to clients; they bind their masks to it
  std::vector<NamedContribution> messages = {};
};

using ReleaseDigest = std::array<std::byte, 32>;

/// SHA-256 of all of it; the order of the messages does not matter.
ReleaseDigest DigestOf(const ReleaseRequest& request);

/// What became of a request.
struct HelperReply {
  enum class Kind {
    kAnswered,
    kRefused,  ///< for good
    kLater,    ///< nothing yet: ask for the same again
  };
  Kind kind = Kind::kLater;
  /// In the ring, `numbers` of them: the sum of the streams, or with noise all that may be told of
  /// it (HelperNoise::Answer).
  std::vector<std::uint64_t> streams = {};
  std::string reason = {};  ///< of kRefused and kLater: one line
};

}  // namespace polykern
