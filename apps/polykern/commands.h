#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace polykern {

class Communicator;

/// One function per command, each in a file of its own: adds the command with its options to the
/// program; its callback does the work and throws Error if it fails. `typed` will be
/// the whole command line when the callback runs; results carry it, so that they can be made again.
/// `ranks` are those that run it together, if mpirun started several.
void AddRunCommand(CLI::App& program, const std::string& typed, Communicator& ranks);
void AddReproduceCommand(CLI::App& program, const std::string& typed, Communicator& ranks);
void AddReportCommand(CLI::App& program);
void AddBenchCommand(CLI::App& program);

/// data list, get, check and scan; the last is in a file of its own.
void AddDataCommand(CLI::App& program);
void AddDataScanCommand(CLI::App& data);

/// All that follow.
void AddFederationCommands(CLI::App& program);

/// pki init, issue, revoke and list; and serve, which is in a file of its own.
void AddPkiCommand(CLI::App& program);
void AddPkiServeCommand(CLI::App& pki);

/// client list, forget and label.
void AddClientCommand(CLI::App& program);

/// Predictions of an exported model for a file.
void AddPredictCommand(CLI::App& program);

/// store show, export, backup, restore, epoch and prune.
void AddStoreCommand(CLI::App& program);

/// The real federation: its server, the agent beside a data stream, and how the server is.
void AddServeCommand(CLI::App& program);
/// `typed` is how a user calls it.
void AddJoinCommand(CLI::App& program, const std::string& typed = "polykern join");
void AddStatusCommand(CLI::App& program);
/// The second party of masked sums.
void AddHelperCommand(CLI::App& program);

/// Many clients in one process, to see what a server can handle.
void AddLoadCommand(CLI::App& program);

}  // namespace polykern
