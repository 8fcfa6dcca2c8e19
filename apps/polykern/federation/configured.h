#pragma once

#include "command_line.h"
#include "polykern/core/error.h"
#include "polykern/net/transport/listen.h"
#include "service.h"

namespace polykern {

/// Does what comes before a service's work, and returns what it does. An Error that names an option
/// is a mistake in the configuration, which systemd need not try again; others may pass, as does
/// another program at the same port.
template <typename Job>
auto Configured(const Job& job) {
  try {
    return job();
  } catch (const CannotListen&) {
    throw;
  } catch (const Error& error) {
    if (error.key().empty() || !IsService()) throw;
    throw WrongConfiguration(error.marked());
  }
}

}  // namespace polykern
