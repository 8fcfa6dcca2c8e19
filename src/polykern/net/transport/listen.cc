#include "polykern/net/transport/listen.h"

namespace polykern {

using boost::asio::ip::tcp;

namespace {

std::string WhatToDo(const boost::system::error_code& why) {
  if (why == boost::asio::error::address_in_use) {
    return "another program listens there; end it, or choose another port";
  }
  if (why == boost::asio::error::access_denied) {
    return "this user may not; choose a port from 1024 on";
  }
  return "is it an address of this machine?";
}

}  // namespace

tcp::acceptor ListenOn(boost::asio::io_context& io, const std::string& address,
                       const std::string& who) {
  const std::size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  try {
    const auto found =
        tcp::resolver(io).resolve(host, address.substr(colon + 1), tcp::resolver::passive);
    return {io, found.begin()->endpoint(), true};
  } catch (const boost::system::system_error& error) {
    throw CannotListen(who + (who.empty() ? "" : " ") + "cannot listen on " + address + "; " +
                       WhatToDo(error.code()));
  }
}

std::string AddressOf(const tcp::acceptor& acceptor, const std::string& address) {
  return address.substr(0, address.rfind(':')) + ":" +
         std::to_string(acceptor.local_endpoint().port());
}

}  // namespace polykern
