#pragma once

#include <cstdint>
#include <string>

namespace polykern {

/// Seconds since 1970 as people read them, in UTC: "2026-07-01", or "2026-07-01 12:30:00". Pure
/// functions.
std::string DateText(std::int64_t seconds);
std::string TimeText(std::int64_t seconds);

}  // namespace polykern
