#include <algorithm>
#include <cmath>

#include "polykern/data/suggest.h"
#include "polykern/data/table_stream.h"

namespace polykern {
namespace {

constexpr Seconds kOneDay = 86400;

/// The correlation of a client's labels so many rows apart: -1 to 1.
double Autocorrelation(const Dataset& data, std::size_t lag) {
  double product = 0;
  double square = 0;
  for (std::size_t k = 0; k < data.order.clients(); ++k) {
    const auto rows = data.order.Of(k);
    if (rows.size() <= 2 * lag) continue;
    double mean = 0;
    for (const std::uint32_t row : rows) mean += data.y[row];
    mean /= static_cast<double>(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double label = data.y[rows[i]] - mean;
      square += label * label;
      if (i >= lag) product += label * (data.y[rows[i - lag]] - mean);
    }
  }
  return square > 0 ? product / square : 0;
}

/// What lies between a client's neighbouring rows, in the middle of all.
Seconds UsualStep(const Dataset& data) {
  std::vector<Seconds> steps;
  for (std::size_t k = 0; k < data.order.clients(); ++k) {
    const auto rows = data.order.Of(k);
    for (std::size_t i = 1; i < rows.size(); ++i) {
      steps.push_back(data.time[rows[i]] - data.time[rows[i - 1]]);
    }
  }
  if (steps.empty()) return 0;
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::ranges::nth_element(steps, middle);
  return *middle;
}

void AddLags(const Dataset& data, Seconds step, SourceOptions& options) {
  constexpr double kAlike = 0.5;
  constexpr double kAlikeDaily = 0.2;
  constexpr double kLongest = 300;  // rows
  if (Autocorrelation(data, 1) > kAlike) options.derived.lags.push_back(1);
  const double rows = std::round((step < kOneDay ? kOneDay : 7 * kOneDay) / step);
  if (!(rows >= 4 && rows <= kLongest)) return;
  const auto day = static_cast<std::size_t>(rows);
  const double alike = Autocorrelation(data, day);
  if (alike > kAlikeDaily && alike > Autocorrelation(data, day - 1) &&
      alike > Autocorrelation(data, day + 1)) {
    options.derived.lags.push_back(day);
  }
}

void AddCalendar(const Dataset& data, Seconds step, SourceOptions& options) {
  constexpr double kFewDays = 60;
  if (!std::ranges::all_of(data.time, IsDate)) return;
  const auto [first, last] = std::ranges::minmax_element(data.time);
  const double days = (*last - *first) / kOneDay;
  if (step < kOneDay && days >= 2) options.derived.calendar.push_back(Calendar::kHour);
  if (step == kOneDay && days >= 14) options.derived.calendar.push_back(Calendar::kWeekday);
  if (step <= kOneDay && days >= kFewDays) options.derived.calendar.push_back(Calendar::kMonth);
}

}  // namespace

void SuggestFromTimes(SourceOptions& options, const SourceOptions& known) {
  if (options.time.empty()) return;
  const Source source = OpenSource(options);
  const auto* dealt = dynamic_cast<const TableStream*>(source.stream.get());
  if (dealt == nullptr || dealt->data().time.empty()) return;
  const Dataset& data = dealt->data();
  if (known.time.empty() && data.order.doubled * 10 > data.rows()) {
    options.time.clear();
    return;
  }
  const Seconds step = UsualStep(data);
  if (!(step > 0)) return;
  if (options.derived.lags.empty()) AddLags(data, step, options);
  if (options.derived.calendar.empty()) AddCalendar(data, step, options);
}

}  // namespace polykern
