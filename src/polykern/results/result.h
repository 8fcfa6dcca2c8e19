#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "polykern/data/source.h"
#include "polykern/data/stream.h"
#include "polykern/results/comparison.h"
#include "polykern/results/experiment_options.h"
#include "polykern/results/row.h"

namespace polykern {

/// result.json: what ran, on what, and what came out (docs/use/result.md lists the fields).
/// `command` is what a user types to get the same again. Curves are thinned to at most 1000 points.
std::string ResultJson(const Source& source, const SourceOptions& source_options,
                       const ExperimentOptions& options, const std::vector<RowResult>& rows,
                       const std::string& command);

/// The plain values of a run in result.json, by the names of its fields; nothing for null.
struct RunValue {
  std::string name = {};
  std::variant<std::monostate, bool, std::uint64_t, double, std::string> value = {};
};
std::vector<RunValue> RunValues(const RowResult& row, const Stream& stream,
                                const ExperimentOptions& options);

/// "reproduction" of result.json, a list.
std::string ReproductionJson(const std::vector<Comparison>& comparisons);

/// The options by which a report tells runs apart, in the order in which it tries them, and how it
/// calls them; with an empty label the value stands alone.
struct OptionLabel {
  std::string key;
  std::string label;
};
std::vector<OptionLabel> OptionLabels();

/// An option that tells rows apart, M and D aside: its value in each row, as it was given; "" where
/// the algorithm does not use it or was left to choose.
struct VaryingOption {
  std::string key;
  std::string label;
  std::vector<std::string> values;
};
std::vector<VaryingOption> VaryingOptions(const std::vector<RowResult>& rows);

/// Everything that decides the samples of a source, its files' contents included, as one line of
/// JSON. Empty if a file is none that could be read again, such as a pipe. Kept runs are found by
/// it: what is new must leave the text of what could be read before as it is.
std::string SampleSettings(const Source& source, const SourceOptions& options);

/// Everything that decides what a row gives on given data, as one line of JSON: equal lines, equal
/// results. Threads are not part of it. Kept runs are found by it, as by SampleSettings.
std::string RowSettings(const Row& row, const ExperimentOptions& options);

/// Indented JSON with each list of plain values on one line: result.json as people can read it.
std::string ReadableJson(const std::string& indented);

}  // namespace polykern
