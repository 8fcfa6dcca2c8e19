#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <sys/types.h>

namespace polykern {

/// This program's own `serve` as a process, from construction to destruction; it dies with this one
/// whatever happens. Throws Error, with what it said, if it does not listen.
class ChildServer {
 public:
  /// Arguments of `polykern serve`; its messages on standard error go to ours.
  explicit ChildServer(const std::vector<std::string>& arguments);
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
