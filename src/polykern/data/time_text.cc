#include "polykern/data/time_text.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "polykern/core/error.h"

namespace polykern {
namespace {

constexpr double kDay = 86400;
/// Smaller numbers are counters; 1973 and later are dates, before year 5139.
constexpr double kFirstDate = 1e8;
constexpr double kFirstMillisecond = 1e11;

/// Takes a text apart from its front. Every call returns whether it found what it wants.
class TextParts {
 public:
  explicit TextParts(std::string_view text) : text_(text) {}

  bool done() const { return text_.empty(); }
  char next() const { return text_.empty() ? '\0' : text_.front(); }
  bool Take(char wanted) {
    if (next() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  std::size_t digits() const {
    return std::min(text_.find_first_not_of("0123456789"), text_.size());
  }
  /// A number of `least` to `most` digits.
  bool Number(std::size_t least, std::size_t most, int& number) {
    const std::size_t count = std::min(digits(), most);
    if (count < least) return false;
    std::from_chars(text_.data(), text_.data() + count, number);
    text_.remove_prefix(count);
    return true;
  }
  /// Digits behind a point, as a fraction.
  bool Fraction(double& fraction) {
    const std::size_t count = digits();
    if (count == 0) return false;
    double value = 0;
    std::from_chars(text_.data(), text_.data() + std::min<std::size_t>(count, 9), value);
    fraction = value / std::pow(10.0, static_cast<double>(std::min<std::size_t>(count, 9)));
    text_.remove_prefix(count);
    return true;
  }

 private:
  std::string_view text_;
};

struct Date {
  int year = 0;
  int month = 0;
  int day = 0;
};

std::optional<Seconds> Midnight(const Date& date) {
  if (date.month < 1 || date.day < 1) return std::nullopt;
  const std::chrono::year_month_day day{std::chrono::year(date.year),
                                        std::chrono::month(static_cast<unsigned>(date.month)),
                                        std::chrono::day(static_cast<unsigned>(date.day))};
  if (!day.ok()) return std::nullopt;
  return kDay * static_cast<double>(std::chrono::sys_days(day).time_since_epoch().count());
}

bool TakeDate(TextParts& text, Date& date) {
  if (text.digits() == 8 || text.digits() == 10 || text.digits() == 12) {  // 20261116[08[30]]
    return text.Number(4, 4, date.year) && text.Number(2, 2, date.month) &&
           text.Number(2, 2, date.day);
  }
  if (text.digits() == 4) {
    if (!text.Number(4, 4, date.year)) return false;
    const char mark = text.next();
    return (mark == '-' || mark == '/' || mark == '.') && text.Take(mark) &&
           text.Number(1, 2, date.month) && text.Take(mark) && text.Number(1, 2, date.day);
  }
  int first = 0;
  int second = 0;
  if (!text.Number(1, 2, first)) return false;
  const char mark = text.next();
  if ((mark != '.' && mark != '/') || !text.Take(mark) || !text.Number(1, 2, second) ||
      !text.Take(mark) || !text.Number(4, 4, date.year)) {
    return false;
  }
  date.day = mark == '.' ? first : second;
  date.month = mark == '.' ? second : first;
  return true;
}

/// 8:30, 08:30:15.5, 0830 or 08; 24:00 is the next midnight.
bool TakeClock(TextParts& text, double& seconds) {
  int hour = 0;
  int minute = 0;
  int second = 0;
  double fraction = 0;
  if (!text.Number(1, 2, hour)) return false;
  const bool colons = text.Take(':');
  if (colons || text.digits() > 0) {
    if (!text.Number(2, 2, minute)) return false;
    if (colons ? text.Take(':') : text.digits() > 0) {
      if (!text.Number(2, 2, second)) return false;
      if (text.Take('.') && !text.Fraction(fraction)) return false;
    }
  }
  seconds = 3600.0 * hour + 60.0 * minute + second + fraction;
  return hour <= 24 && minute < 60 && second <= 60 && seconds <= kDay;
}

bool TakeOffset(TextParts& text, double& seconds) {
  if (text.Take('Z') || text.Take('z')) return true;
  const double sign = text.next() == '-' ? -1 : 1;
  if (!text.Take('+') && !text.Take('-')) return true;  // there is none
  int hours = 0;
  int minutes = 0;
  if (!text.Number(2, 2, hours)) return false;
  const bool colon = text.Take(':');
  if ((colon || text.digits() > 0) && !text.Number(2, 2, minutes)) return false;
  seconds = sign * (3600.0 * hours + 60.0 * minutes);
  return hours < 24 && minutes < 60;
}

std::optional<Seconds> ParseDate(std::string_view whole) {
  TextParts text(whole);
  Date date;
  if (!TakeDate(text, date)) return std::nullopt;
  const auto midnight = Midnight(date);
  if (!midnight) return std::nullopt;
  if (text.done()) return midnight;
  const bool blank = text.Take('T') || text.Take('t') || text.Take(' ');
  while (blank && text.Take(' ')) {
  }
  double clock = 0;
  double offset = 0;
  if ((!blank && text.digits() == 0) || !TakeClock(text, clock)) return std::nullopt;
  text.Take(' ');
  if (!TakeOffset(text, offset) || !text.done()) return std::nullopt;
  return *midnight + clock - offset;
}

}  // namespace

std::optional<Seconds> ParseTime(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) {
    if (!std::isfinite(number)) return std::nullopt;
    // 20261116 and 2026111608 are dates if such days exist: as seconds they would be in 1970 or
    // 2034.
    if (text.size() == 8 || text.size() == 12) {
      if (const auto date = ParseDate(text)) return date;
    }
    return std::abs(number) >= kFirstMillisecond ? number / 1000 : number;
  }
  return ParseDate(text);
}

std::optional<Seconds> TimeOfParts(std::span<const double> parts) {
  constexpr std::array<double, 6> kMost = {9999, 12, 31, 24, 59, 60};
  std::array<double, 6> part{};
  if (parts.size() < 3 || parts.size() > part.size()) return std::nullopt;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool whole = i == 5 || parts[i] == std::floor(parts[i]);
    if (!(parts[i] >= 0 && parts[i] <= kMost[i]) || !whole) return std::nullopt;
    part[i] = parts[i];
  }
  const auto midnight =
      Midnight({static_cast<int>(part[0]), static_cast<int>(part[1]), static_cast<int>(part[2])});
  if (!midnight) return std::nullopt;
  return *midnight + 3600 * part[3] + 60 * part[4] + part[5];
}

bool IsDate(Seconds time) {
  return std::abs(time) >= kFirstDate;
}

std::string TimeText(Seconds time) {
  std::array<char, 64> text{};
  if (!IsDate(time)) {
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), time);
    return {text.data(), end};
  }
  const double days = std::floor(time / kDay);
  const std::chrono::year_month_day day{
      std::chrono::sys_days(std::chrono::days(static_cast<int>(days)))};
  const auto clock = static_cast<int>(time - days * kDay);
  const int size = std::snprintf(text.data(), text.size(), "%04d-%02u-%02u %02d:%02d",
                                 static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                                 static_cast<unsigned>(day.day()), clock / 3600, clock / 60 % 60);
  std::string whole(text.data(), static_cast<std::size_t>(size));
  if (clock % 60 != 0) {
    whole += clock % 60 < 10 ? ":0" : ":";
    whole += std::to_string(clock % 60);
  }
  return whole;
}

const char* CalendarName(Calendar calendar) {
  constexpr std::array<const char*, 3> kNames = {"hour", "weekday", "month"};
  return kNames[static_cast<std::size_t>(calendar)];
}

Calendar ParseCalendar(std::string_view name) {
  for (const Calendar calendar : kCalendars) {
    if (name == CalendarName(calendar)) return calendar;
  }
  throw Error("unknown calendar '" + std::string(name) + "'; there are: hour, weekday, month");
}

double CalendarPlace(Calendar calendar, Seconds time) {
  const double days = std::floor(time / kDay);
  const double part = (time - days * kDay) / kDay;
  if (calendar == Calendar::kHour) return part;
  if (calendar == Calendar::kWeekday) {  // 1970 began on a Thursday
    const double weekday = days + 3 - 7 * std::floor((days + 3) / 7);
    return (weekday + part) / 7;
  }
  const auto sys_day = std::chrono::sys_days(std::chrono::days(static_cast<int>(days)));
  const std::chrono::year year = std::chrono::year_month_day(sys_day).year();
  const auto first = std::chrono::sys_days(year / 1 / 1);
  const auto last = std::chrono::sys_days((year + std::chrono::years(1)) / 1 / 1);
  return (static_cast<double>((sys_day - first).count()) + part) /
         static_cast<double>((last - first).count());
}

}  // namespace polykern
