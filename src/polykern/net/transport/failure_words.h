#pragma once

#include <string>

#include <boost/system/error_code.hpp>

#include "polykern/net/transport/frames.h"

namespace polykern {

/// What went wrong between two machines, in words of our own for the operator of this one, and what
/// to do about it. Any thread may call anything.

/// Why there is no connection.
std::string WhyNotConnected(const boost::system::error_code& error);

/// Why a connection ended that was there: of an errno.
std::string WhyCut(int error);

/// Why TLS failed: of OpenSSL's error code, seen from this side.
std::string WhyTlsFailed(unsigned long error, Side side);

/// What is wrong with the other side's certificate: of OpenSSL's verdict. `host`: a client's name
/// for its server.
std::string WhyNotTrusted(long verdict, Side side, const std::string& host);

}  // namespace polykern
