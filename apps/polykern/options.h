#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "polykern/algorithms/options.h"
#include "polykern/data/source.h"
#include "polykern/sim/experiment.h"

namespace polykern {

/// The options that several commands share, each bound to the field of the library's struct.
void AddSourceOptions(CLI::App& command, SourceOptions& options);
void AddAlgorithmOptions(CLI::App& command, AlgorithmOptions& options);
void AddExperimentOptions(CLI::App& command, ExperimentOptions& options);

/// A list of whole numbers of at least 1, separated by commas.
CLI::Option& AddCountList(CLI::App& command, const std::string& names,
                          std::vector<std::size_t>& values, const std::string& help);

/// --config, which ExpandConfigFile has replaced before the parser sees it: here for --help.
void AddConfigOption(CLI::App& command);

/// The command of this name, or null.
const CLI::App* FindCommand(const CLI::App& program, const std::string& name);

}  // namespace polykern
