#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <sys/types.h>

namespace polykern {

/// A program that serves, as a process of its own, from construction to destruction; it dies with
/// this one in any case. Use it from one thread, which must live as long. Throws Error.
class ChildServer {
 public:
  /// Runs a program with these words, the first of which is its name, and returns when it has said
  /// "listening on ADDRESS: ..." in the first line of its output. What it says on standard error
  /// goes to ours. Throws Error if it says something else, or nothing.
  ChildServer(const std::string& program, std::vector<std::string> words);
  /// Asks it to end (SIGTERM), and waits until it has.
  ~ChildServer();
  ChildServer(const ChildServer&) = delete;
  ChildServer& operator=(const ChildServer&) = delete;

  /// HOST:PORT where it listens.
  const std::string& address() const { return address_; }
  /// Its resident memory, in bytes.
  std::size_t Memory() const;
  /// Seconds that a core has worked for it.
  double Work() const;

 private:
  pid_t process_ = -1;
  int output_ = -1;
  std::string address_;
};

}  // namespace polykern
