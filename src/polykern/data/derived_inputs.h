#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "polykern/data/time_text.h"

namespace polykern {

/// Inputs that are made of what a client knows anyway: its own past labels and the calendar. They
/// come behind the columns of a sample, lags first. A plain value.
struct DerivedInputs {
  /// 1: the label before the one that is predicted, 2: the one before that, ..
  std::vector<std::size_t> lags = {};
  std::vector<Calendar> calendar = {};  ///< each as a sine and a cosine
  /// How many steps ahead is predicted. 1: a label from the inputs of its own row and the labels
  /// before it. More: from inputs of so many rows less 1 before, and the labels before these.
  std::size_t ahead = 1;

  std::size_t size() const { return lags.size() + 2 * calendar.size(); }
  /// What they are called: NO2.lag1, hour.sin, hour.cos.
  std::vector<std::string> Names(const std::string& target) const;
  /// Throws Error for a lag of 0, an `ahead` of 0, a lag that is not known so far ahead, a lag or a
  /// calendar that is named twice, and for a calendar without times that are dates (`dates`).
  void Check(bool dates) const;
};

/// Sine and cosine of each calendar, in the order of DerivedInputs. The same bits on every machine.
/// Size: twice that of `calendar`.
void CalendarInputs(std::span<const Calendar> calendar, Seconds time, std::span<double> inputs);

}  // namespace polykern
