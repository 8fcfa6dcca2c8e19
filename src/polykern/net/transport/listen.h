#pragma once

#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "polykern/core/error.h"

namespace polykern {

/// An address is not available now.
class CannotListen : public Error {
 public:
  using Error::Error;
};

/// Listens on HOST:PORT. Throws CannotListen, with what to do; `who` begins it.
boost::asio::ip::tcp::acceptor ListenOn(boost::asio::io_context& io, const std::string& address,
                                        const std::string& who = "");

/// The same address, with the port it got.
std::string AddressOf(const boost::asio::ip::tcp::acceptor& acceptor, const std::string& address);

}  // namespace polykern
