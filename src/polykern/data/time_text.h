#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace polykern {

/// A moment: seconds since the beginning of 1970, universal time. Texts without an offset are taken
/// as if they were universal time; so are their hours, days and months (see CalendarPlace).
using Seconds = double;

/// Reads a time. Forms: ISO 8601 (2026-11-16, 2026-11-16T08:30, 2026-11-16 08:30:15.5, with Z or
/// +01:00 behind a clock, 20261116T0830), 2026/11/16 8:30, 20261116 8:30, 16.11.2026 8:30 (day
/// first) and 11/16/2026 8:30 (month first). A plain number is taken as it is: seconds since 1970,
/// or milliseconds from a hundred thousand million on; a small one is a counter, which has no
/// calendar. None for anything else, also for a day or a clock that does not exist.
std::optional<Seconds> ParseTime(std::string_view text);

/// The same of a date in parts: year, month, day, and as many of hour, minute and second as there
/// are. None if there is no such date.
std::optional<Seconds> TimeOfParts(std::span<const double> parts);

/// Whether a time can be a date. Those of counters cannot.
bool IsDate(Seconds time);

/// "2026-11-16 08:30", with seconds where there are some; a counter as a number.
std::string TimeText(Seconds time);

/// What repeats: the hour of the day, the day of the week, the month of the year.
enum class Calendar : std::uint8_t { kHour, kWeekday, kMonth };
inline constexpr std::array kCalendars = {Calendar::kHour, Calendar::kWeekday, Calendar::kMonth};

/// hour, weekday or month. ParseCalendar throws Error for any other name.
const char* CalendarName(Calendar calendar);
Calendar ParseCalendar(std::string_view name);

/// How far a time is through its day, its week (which begins on Monday) or its year: 0 up to 1.
double CalendarPlace(Calendar calendar, Seconds time);

}  // namespace polykern
