#include "polykern/data/row_order.h"

#include <algorithm>
#include <cassert>

namespace polykern {

RowOrder OrderRows(std::span<const std::uint32_t> client, std::size_t clients,
                   std::span<const Seconds> time) {
  assert(time.empty() || time.size() == client.size());
  RowOrder order;
  std::vector<std::uint32_t> next(clients + 1, 0);
  for (const std::uint32_t k : client) ++next[k + 1];
  for (std::size_t k = 0; k < clients; ++k) next[k + 1] += next[k];
  order.first = next;
  order.rows.resize(client.size());
  for (std::size_t row = 0; row < client.size(); ++row) {
    order.rows[next[client[row]]++] = static_cast<std::uint32_t>(row);
  }
  if (time.empty()) return order;

  const auto earlier = [&](std::uint32_t a, std::uint32_t b) { return time[a] < time[b]; };
  std::uint32_t kept = 0;
  for (std::size_t k = 0; k < clients; ++k) {
    const auto begin = order.rows.begin() + order.first[k];
    const auto end = order.rows.begin() + order.first[k + 1];
    order.first[k] = kept;
    std::size_t back = 0;
    for (auto row = begin; row != end && row + 1 != end; ++row) back += earlier(row[1], row[0]);
    if (back > 0) std::stable_sort(begin, end, earlier);
    order.unsorted += back;
    for (auto row = begin; row != end; ++row) {  // to the front, over what was left out
      if (kept > order.first[k] && time[order.rows[kept - 1]] == time[*row]) {
        ++order.doubled;
      } else {
        order.rows[kept++] = *row;
      }
    }
  }
  order.first[clients] = kept;
  order.rows.resize(kept);
  return order;
}

}  // namespace polykern
