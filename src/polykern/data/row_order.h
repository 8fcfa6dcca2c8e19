#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polykern/data/time_text.h"

namespace polykern {

/// The rows of every client, each client's in the order in which it sees them. A plain value.
struct RowOrder {
  std::vector<std::uint32_t> rows;   ///< client after client
  std::vector<std::uint32_t> first;  ///< where each client's begin in `rows`; the end behind them
  std::size_t unsorted = 0;          ///< rows that come before the one in front of them
  std::size_t doubled = 0;  ///< rows left out because their client has one at that time already

  std::size_t clients() const { return first.size() - 1; }
  std::span<const std::uint32_t> Of(std::size_t client) const {
    return std::span(rows).subspan(first[client], first[client + 1] - first[client]);
  }
};

/// `client`: whose each row is, below `clients`. `time`: when, or empty for the order of the rows.
/// Of rows of one client with the same time the first stays.
RowOrder OrderRows(std::span<const std::uint32_t> client, std::size_t clients,
                   std::span<const Seconds> time);

}  // namespace polykern
