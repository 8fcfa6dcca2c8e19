#include "polykern/net/transport/listen.h"

#include "polykern/core/error.h"

namespace polykern {

using boost::asio::ip::tcp;

tcp::acceptor ListenOn(boost::asio::io_context& io, const std::string& address) {
  const std::size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  try {
    const auto found =
        tcp::resolver(io).resolve(host, address.substr(colon + 1), tcp::resolver::passive);
    return {io, found.begin()->endpoint(), true};
  } catch (const boost::system::system_error&) {
    throw Error("cannot listen on " + address + "; is the address right, and the port free?");
  }
}

std::string AddressOf(const tcp::acceptor& acceptor, const std::string& address) {
  return address.substr(0, address.rfind(':')) + ":" +
         std::to_string(acceptor.local_endpoint().port());
}

}  // namespace polykern
