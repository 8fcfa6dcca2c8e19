#pragma once

#include <string>

#include "polykern/data/samples/sample_reader.h"

namespace polykern {

/// The columns that a federation's members have agreed on, from what its server tells them: `told`
/// is net's FederationConfiguration, which this folder does not know. `target` is the label's
/// column in this input; empty: what the server calls it, or y. `id` is the column of a sample's
/// name.
SampleColumns AgreedColumns(const auto& told, const std::string& target, const std::string& id) {
  SampleColumns columns{.inputs = told.own_columns(), .dimension = told.own_inputs(), .id = id};
  for (const auto& column : told.text_columns()) columns.texts[column.name] = column.texts;
  columns.impute = told.imputes();
  columns.time = told.time;
  columns.derived.lags = told.lags;
  columns.derived.ahead = told.problem.ahead;
  for (const auto& name : told.calendar) columns.derived.calendar.push_back(ParseCalendar(name));
  if (!told.target.name.empty()) columns.target = told.target.name;
  if (!target.empty()) columns.target = target;
  return columns;
}

}  // namespace polykern
