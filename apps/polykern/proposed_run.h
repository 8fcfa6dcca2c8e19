#pragma once

#include <string>

#include "polykern/data/source.h"

namespace polykern {

/// The `polykern run` that has these options, in three forms. Beyond twenty ranges of inputs the
/// command names only the target's: `run` finds the same ones itself.

/// In one line.
std::string OneLine(const SourceOptions& options);
/// In lines of at most about 100 characters, each but the last ending in a backslash.
std::string ShortLines(const SourceOptions& options);
/// As the TOML file that --config takes, with all ranges.
std::string AsToml(const SourceOptions& options);

}  // namespace polykern
