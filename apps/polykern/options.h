#pragma once

#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common_options.h"
#include "polykern/algorithms/options.h"
#include "polykern/algorithms/sweep.h"
#include "polykern/data/source.h"
#include "polykern/sim/experiment.h"

namespace polykern {

/// The options that several commands share, each bound to the field of the library's struct.
void AddSourceOptions(CLI::App& command, SourceOptions& options);

/// Of these what says how to read the columns of files.
void AddColumnOptions(CLI::App& command, SourceOptions& options);

void AddExperimentOptions(CLI::App& command, ExperimentOptions& options);

/// The options of the algorithms, as far as a command line gives them: keys and texts.
using GivenOptions = std::map<std::string, std::string>;
void AddAlgorithmOptions(CLI::App& command, GivenOptions& given);
/// The same where a number may be a list.
void AddAlgorithmOptions(CLI::App& command, Sweep& sweep);

/// Of these the last two: --seed and --threads.
void AddSeedAndThreads(CLI::App& command, ExperimentOptions& options);

/// --device: who does the work of a simulation, cpu or gpu.
void AddDeviceOption(CLI::App& command, std::string& device);

/// COLUMN=LOW:HIGH; throws Error for anything else.
DeclaredRange ParseRange(const std::string& text);

/// --data-dir, which POLYKERN_DATA sets too.
CLI::Option& AddDataDirOption(CLI::App& command, std::string& data_dir, const std::string& help);

/// --format text or json.
CLI::Option& AddFormatOption(CLI::App& command, std::string& format);

}  // namespace polykern
