#include "commands.h"

namespace polykern {

void AddFederationCommands(CLI::App& program) {
  AddServeCommand(program);
  AddJoinCommand(program);
  AddStatusCommand(program);
  AddHelperCommand(program);
  AddLoadCommand(program);
  AddPkiCommand(program);
  AddClientCommand(program);
  AddStoreCommand(program);
  AddPredictCommand(program);
}

}  // namespace polykern
