#pragma once

#include <algorithm>
#include <cstdint>

namespace polykern {

/// What went over the links so far, over all clients and steps. A plain value.
struct Traffic {
  std::uint64_t messages = 0;    ///< client-steps
  std::uint64_t up_numbers = 0;  ///< numbers sent by clients
  std::uint64_t up_bytes = 0;    ///< numbers, losses and kernel indices, 4 bytes each
  std::uint64_t down_bytes = 0;  ///< the model and 8 bytes a weight, to all that took part
  std::uint64_t largest_up = 0;  ///< most numbers one client sent in one step

  void Add(const Traffic& other) {
    messages += other.messages;
    up_numbers += other.up_numbers;
    up_bytes += other.up_bytes;
    down_bytes += other.down_bytes;
    largest_up = std::max(largest_up, other.largest_up);
  }
};

}  // namespace polykern
