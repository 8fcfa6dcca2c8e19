#include "commands.h"
#include "polykern/core/error.h"

namespace polykern {

/// In place of federation/, in a build without it (POLYKERN_NETWORK): says how to get one that has
/// it.
void AddFederationCommands(CLI::App& program) {
  for (const std::string name :
       {"serve", "join", "status", "helper", "load", "pki", "client", "store", "predict"}) {
    auto& command = *program.add_subcommand(
        name, "Part of the real federation (not built yet: scripts/run " + name + " builds it)");
    command.set_help_flag();  // its options are not known here
    command.allow_extras()->callback([name] {
      throw Error("this build has only the simulator; 'scripts/run " + name +
                  "' builds the real federation too, as 'cmake --preset release' does");
    });
  }
}

}  // namespace polykern
