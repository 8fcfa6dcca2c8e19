#include "polykern/net/ending.h"

#include <set>

#include <gtest/gtest.h>

namespace polykern {
namespace {

TEST(EndingsOnTheWire, ComeBackAsTheyWereIfTheyAreTold) {
  using Kind = Ending::Kind;
  std::set<std::uint16_t> codes;
  for (const Kind kind : {Kind::kFinished, Kind::kStopping, Kind::kRefused, Kind::kVersion,
                          Kind::kBusy, Kind::kReplaced, Kind::kBroken, Kind::kSilent}) {
    EXPECT_EQ(KindOf(CloseCodeOf(kind)), kind);
    EXPECT_TRUE(codes.insert(CloseCodeOf(kind)).second) << "each has its own code";
  }
  // What one side finds out by itself is never told; if it were, it would be a plain end.
  EXPECT_EQ(CloseCodeOf(Kind::kLost), 1000);
  EXPECT_EQ(CloseCodeOf(Kind::kNotOurs), 1000);
  // docs/develop/protocol.md: no released code may change.
  EXPECT_EQ(codes, (std::set<std::uint16_t>{1000, 1001, 1002, 4001, 4002, 4003, 4004, 4005}));
}

TEST(EndingsOnTheWire, OfUnknownCodesAreLostConnections) {
  int known = 0;
  for (unsigned code = 0; code <= 65535; ++code) {
    const Ending::Kind kind = KindOf(static_cast<std::uint16_t>(code));
    if (kind == Ending::Kind::kLost) continue;
    EXPECT_EQ(CloseCodeOf(kind), code);
    ++known;
  }
  EXPECT_EQ(known, 8);
}

}  // namespace
}  // namespace polykern
