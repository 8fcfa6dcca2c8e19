#pragma once

#include <stdexcept>

namespace polykern {

/// A user's mistake: a file, an option, a message. The text is one line that says what is wrong,
/// where, and what to do. Thrown at the edge, before any state changes; programs print it once
/// and exit with 1. A programmer's mistake is an assert instead.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace polykern
