#pragma once

#include <string>
#include <vector>

namespace polykern {

/// Addresses as users type them. Pure functions.

/// Does HOST:PORT end with a port, 0 to 65535?
bool HasPort(const std::string& address);

/// Throws Error unless a server may listen on this: HOST:PORT, and only the loopback if `insecure`,
/// with neither encryption nor certificates.
void CheckListen(const std::string& address, bool insecure = false);

/// A server's HOST:PORT. The port is 7433, where a server listens unless told otherwise, if the
/// user left it out: "host", "192.0.2.7", "::1" and "[::1]" are good. Throws Error for a
/// wrong port.
std::string WithPort(const std::string& server);

/// The addresses of a federation's servers: what commas part.
std::vector<std::string> ServersIn(const std::string& servers);
/// The same, each WithPort, parted by commas again.
std::string WithPorts(const std::string& servers);

}  // namespace polykern
