#include "polykern/net/ending.h"

#include <algorithm>
#include <array>
#include <utility>

namespace polykern {
namespace {

using Kind = Ending::Kind;

// 1000 to 1002 are RFC 6455's own; from 4000 on they are ours. What has none never gets on a wire.
constexpr std::array<std::pair<Kind, std::uint16_t>, 8> kCodes = {{{Kind::kFinished, 1000},
                                                                   {Kind::kStopping, 1001},
                                                                   {Kind::kBroken, 1002},
                                                                   {Kind::kRefused, 4001},
                                                                   {Kind::kVersion, 4002},
                                                                   {Kind::kBusy, 4003},
                                                                   {Kind::kReplaced, 4004},
                                                                   {Kind::kSilent, 4005}}};

}  // namespace

std::uint16_t CloseCodeOf(Kind kind) {
  const auto* const found = std::ranges::find(kCodes, kind, &std::pair<Kind, std::uint16_t>::first);
  return found == kCodes.end() ? std::uint16_t{1000} : found->second;
}

Kind KindOf(std::uint16_t close_code) {
  const auto* const found =
      std::ranges::find(kCodes, close_code, &std::pair<Kind, std::uint16_t>::second);
  return found == kCodes.end() ? Kind::kLost : found->first;
}

}  // namespace polykern
