#include "polykern/data/derived_inputs.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numbers>
#include <utility>

#include "polykern/core/error.h"

namespace polykern {
namespace {

/// Sine and cosine of an angle of up to an eighth of a circle. Taylor's series: the standard
/// library's functions have other last bits on other machines.
std::pair<double, double> SmallSineAndCosine(double angle) {
  const double square = angle * angle;
  double sine = 0;
  double cosine = 0;
  for (int n = 16; n > 0; n -= 2) {  // Horner's rule, from the smallest term
    sine = 1 - square * (n == 16 ? 1 : sine) / (n * (n + 1));
    cosine = 1 - square * (n == 16 ? 1 : cosine) / (n * (n - 1));
  }
  return {angle * sine, cosine};
}

/// Of a part of a full circle, from 0 up to 1.
std::pair<double, double> SineAndCosine(double part) {
  const double eighths = std::floor(part * 8);
  const auto eighth = static_cast<int>(eighths) % 8;
  const double rest = part - eighths / 8;  // exact
  const bool mirrored = eighth % 2 != 0;
  auto [sine, cosine] = SmallSineAndCosine(2 * std::numbers::pi * (mirrored ? 0.125 - rest : rest));
  if (mirrored) std::swap(sine, cosine);
  // Within its quarter; now turned by as many quarters.
  switch (eighth / 2) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

}  // namespace

std::vector<std::string> DerivedInputs::Names(const std::string& target) const {
  std::vector<std::string> names;
  for (const std::size_t lag : lags) names.push_back(target + ".lag" + std::to_string(lag));
  for (const Calendar which : calendar) {
    names.push_back(std::string(CalendarName(which)) + ".sin");
    names.push_back(std::string(CalendarName(which)) + ".cos");
  }
  return names;
}

void DerivedInputs::Check(bool dates) const {
  if (ahead == 0) throw Error(OptionName("ahead") + " is 0; 1 is the next step");
  for (const std::size_t lag : lags) {
    if (lag == 0) throw Error(OptionName("lags") + " has a 0; 1 is the last label that is known");
    if (lag < ahead) {
      throw Error(OptionName("lags") + " has " + std::to_string(lag) + ", which is not known " +
                  std::to_string(ahead) + " steps ahead; choose at least " + std::to_string(ahead));
    }
    if (std::ranges::count(lags, lag) > 1) {
      throw Error(OptionName("lags") + " names " + std::to_string(lag) + " twice; name it once");
    }
  }
  for (const Calendar which : calendar) {
    if (std::ranges::count(calendar, which) > 1) {
      throw Error(OptionName("calendar") + " names " + CalendarName(which) +
                  " twice; name it once");
    }
  }
  if (!calendar.empty() && !dates) {
    throw Error(OptionName("calendar") + " needs dates; name their column with " +
                OptionName("time"));
  }
}

void CalendarInputs(std::span<const Calendar> calendar, Seconds time, std::span<double> inputs) {
  assert(inputs.size() == 2 * calendar.size());
  for (std::size_t i = 0; i < calendar.size(); ++i) {
    const auto [sine, cosine] = SineAndCosine(CalendarPlace(calendar[i], time));
    inputs[2 * i] = sine;
    inputs[2 * i + 1] = cosine;
  }
}

}  // namespace polykern
