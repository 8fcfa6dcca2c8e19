#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace polykern {

/// A command as a service of systemd: tells it what sd_notify(3) would, through the socket that
/// $NOTIFY_SOCKET names; without one nothing happens, nor does anything fail. Use it from one
/// thread.
class Service {
 public:
  Service();
  /// The command is ending.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// The command has begun; `status` is what `systemctl status` shows.
  void Ready(const std::string& status);
  /// The command works, and how it is: for its loop. Tells so twice in the time that a watchdog
  /// waits ($WATCHDOG_USEC), and what has changed at most once a second.
  void Alive(const std::string& status);
  /// For a command whose loop may rightly wait for long: calls `look`, which must not, from a
  /// thread of its own until this ends, and tells what it returns as Alive does. The watchdog hears
  /// of it while the loop calls Rest or, often enough for the watchdog, Work; any thread may call
  /// both.
  void WatchOver(const std::function<std::string()>& look);
  /// The loop begins with something, or still comes around.
  void Work();
  /// The loop waits for what may never come.
  void Rest();

 private:
  void Tell(const std::string& text) const;

  const std::string socket_;
  std::chrono::steady_clock::duration watchdog_{};  // 0: none
  std::chrono::steady_clock::time_point fed_{};
  std::chrono::steady_clock::time_point shown_{};
  /// From then on the loop is stuck, unless it says something before.
  std::atomic<std::chrono::steady_clock::time_point> stuck_{
      std::chrono::steady_clock::time_point::max()};
  std::string status_;
  std::jthread watch_;  // last: ends first
};

/// Is this process a service?
bool IsService();

/// The folder of a service's credentials ($CREDENTIALS_DIRECTORY); empty: it has none.
std::string CredentialsFolder();

/// The same if it has this file; else empty. A unit puts an empty line in place of one that is
/// missing.
std::string CredentialsWith(const std::string& file);

}  // namespace polykern
