#pragma once

#include <string>
#include <vector>

#include "polykern/data/source.h"
#include "polykern/sim/experiment.h"

namespace polykern {

/// The version of this library, as in result.json.
const char* Version();

/// result.json: what ran, on what, and what came out (docs/result.md lists the fields). `command`
/// is what a user types to get the same again. Curves are thinned to at most 1000 points.
std::string ResultJson(const Source& source, const SourceOptions& source_options,
                       const ExperimentOptions& options, const std::vector<RowResult>& rows,
                       const std::string& command);

/// Everything that decides the samples of a source, its files' contents included, as one line of
/// JSON. Empty if a file is none that could be read again, such as a pipe.
std::string SampleSettings(const Source& source, const SourceOptions& options);

/// Everything that decides what a row gives on given data, as one line of JSON: equal lines, equal
/// results. Threads are no part of it.
std::string RowSettings(const Row& row, const ExperimentOptions& options);

/// Indented JSON with each list of plain values on one line: result.json as people can read it.
std::string ReadableJson(const std::string& indented);

/// Writes a file so that a reader sees the old one or the whole new one, never a half. Makes the
/// folder if needed. Throws Error with the path and the reason.
void WriteFileAtomically(const std::string& folder, const std::string& name,
                         const std::string& text);

/// Throws Error if `folder` can be neither made nor written to: to be asked before a long run.
void CheckWritable(const std::string& folder);

}  // namespace polykern
