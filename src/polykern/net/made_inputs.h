#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "polykern/net/configuration.h"

namespace polykern {

/// The inputs that agents make of a sample's columns, its times and past labels. Where there are
/// any, a configuration has a column for each: in the place of a column of texts one for each text,
/// called wd=N, or wd#0 and so on; then, if missing values are imputed, a mark for each column of
/// a sample, wind.missing; then past labels, power.lag1; then the calendar, hour.sin and hour.cos.
/// These are the names that `polykern run` gives them. Pure functions.

/// From columns of samples to those of inputs: a lag has the label's range, marks and the calendar
/// that of -1 to 1.
void AddMadeColumns(FederationConfiguration& federation);

/// And back. Throws Error for a configuration that has none of AddMadeColumns' forms.
void TakeMadeColumnsOut(FederationConfiguration& federation);

/// Throws Error for inputs that cannot be made, in a configuration as it is told.
void CheckMadeInputs(const FederationConfiguration& federation);

/// "wd=N:NE:E", or "wd" for texts that share their inputs by their hash. Throws Error for a name or
/// a text that is empty, holds a comma or comes twice, and for too many texts.
TextColumn ParseTextColumn(const std::string& text);

}  // namespace polykern
