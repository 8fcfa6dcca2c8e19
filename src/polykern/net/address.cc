#include "polykern/net/address.h"

#include <algorithm>

#include "polykern/core/error.h"
#include "polykern/core/text.h"

namespace polykern {
namespace {

bool IsLoopback(const std::string& listen) {
  const std::string host = listen.substr(0, listen.rfind(':'));
  const bool number = host.find_first_not_of("0123456789.") == std::string::npos;
  return host == "localhost" || host == "[::1]" || (number && host.starts_with("127."));
}

}  // namespace

bool HasPort(const std::string& address) {
  const std::string port = address.substr(address.rfind(':') + 1);
  return address.find(':') != std::string::npos && !port.empty() && port.size() <= 5 &&
         port.find_first_not_of("0123456789") == std::string::npos && std::stoi(port) <= 65535;
}

void CheckListen(const std::string& address, bool insecure) {
  if (!HasPort(address)) {
    throw Error(OptionName("listen", address) + ": not of the form HOST:PORT, port 0 to 65535");
  }
  if (insecure && !IsLoopback(address)) {
    throw Error(OptionName("insecure") + " listens on the loopback only, not on " + address +
                "; use certificates (polykern pki init), or listen on 127.0.0.1");
  }
}

std::string WithPort(const std::string& server) {
  const bool bracketed = server.starts_with('[');
  const bool bare_ipv6 = !bracketed && std::ranges::count(server, ':') > 1;
  const bool portless = bracketed ? server.ends_with(']') : server.find(':') == std::string::npos;
  std::string address = bare_ipv6 ? "[" + server + "]" : server;
  if (bare_ipv6 || portless) address += ":7433";
  if (address.starts_with(':') || address.find('/') != std::string::npos || !HasPort(address)) {
    throw Error(OptionName("server", server) + ": not of the form HOST:PORT, port 0 to 65535");
  }
  return address;
}

std::vector<std::string> ServersIn(const std::string& servers) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at <= servers.size();) {
    const std::size_t comma = std::min(servers.find(',', at), servers.size());
    all.push_back(servers.substr(at, comma - at));
    at = comma + 1;
  }
  return all;
}

std::string WithPorts(const std::string& servers) {
  return Joined(ServersIn(servers), ",", WithPort);
}

}  // namespace polykern
