#pragma once

#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace polykern {

/// Listens on HOST:PORT. Throws Error, with what to do, if that cannot be; `who` begins it.
boost::asio::ip::tcp::acceptor ListenOn(boost::asio::io_context& io, const std::string& address,
                                        const std::string& who = "");

/// The same address, with the port it got.
std::string AddressOf(const boost::asio::ip::tcp::acceptor& acceptor, const std::string& address);

}  // namespace polykern
