#include "polykern/gpu/exp_table.h"

#include <array>
#include <bit>
#include <cmath>

namespace polykern::gpu {
namespace {

__extension__ using Wide = unsigned __int128;
__extension__ using Signed = __int128;

constexpr int kRoots = 7;       // 2^7 powers
constexpr int kFraction = 126;  // bits of a Wide after the point
constexpr Wide kOne = Wide{1} << kFraction;

/// Of numbers below 2, rounded down.
Wide Product(Wide a, Wide b) {
  const auto high = [](Wide value) { return Wide{static_cast<U64>(value >> 64)}; };
  const auto low = [](Wide value) { return Wide{static_cast<U64>(value)}; };
  const Wide middle = high(low(a) * low(b)) + low(high(a) * low(b)) + low(low(a) * high(b));
  const Wide top =
      high(a) * high(b) + high(high(a) * low(b)) + high(low(a) * high(b)) + high(middle);
  return top << 2 | low(middle) >> 62;
}

/// Bit by bit.
Wide SquareRoot(Wide square) {
  Wide root = 0;
  for (Wide bit = kOne; bit > 0; bit >>= 1) {
    if (Product(root | bit, root | bit) <= square) root |= bit;
  }
  return root;
}

ExpEntry EntryOf(U64 i, Wide power) {
  constexpr int kDropped = kFraction - 52;
  const Wide head = (power + (Wide{1} << (kDropped - 1))) >> kDropped;
  const double value = std::ldexp(static_cast<double>(static_cast<U64>(head)), -52);
  // What is left, less than 2^-53 in size, as two doubles, and so divided with one rounding.
  const auto rest = static_cast<Signed>(power - (head << kDropped));
  const auto much = static_cast<double>(rest);
  const auto little = static_cast<double>(rest - static_cast<Signed>(much));
  const double near = much / value;
  const double tail = near + (std::fma(-near, value, much) + little) / value;
  return {std::ldexp(tail, -kFraction), std::bit_cast<U64>(value) - (i << 45)};
}

}  // namespace

std::vector<ExpEntry> ExpTable() {
  std::array<Wide, kRoots> roots{};  // 2^(1/2), 2^(1/4) ...
  for (int r = 0; r < kRoots; ++r) roots[r] = SquareRoot(r == 0 ? 2 * kOne : roots[r - 1]);
  std::vector<ExpEntry> table;
  for (U64 i = 0; i < U64{1} << kRoots; ++i) {
    Wide power = kOne;
    for (int r = 0; r < kRoots; ++r) {
      if ((i >> (kRoots - 1 - r) & 1) != 0) power = Product(power, roots[r]);
    }
    table.push_back(EntryOf(i, power));
  }
  return table;
}

}  // namespace polykern::gpu
