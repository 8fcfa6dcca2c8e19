#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace polykern {

struct RenewalServerOptions {
  std::string listen = "127.0.0.1:7435";  ///< HOST:PORT; port 0: one that is free
  std::string authority = "pki";          ///< the authority's folder, with ca.key
  /// Host names and IP addresses that clients reach it by; empty: those of this machine.
  std::vector<std::string> hosts = {};
  std::int64_t valid = 30 * 86'400;  ///< seconds that new certificates last
  std::chrono::milliseconds opening_time{10'000};
};

/// Renews clients' certificates: a client with a valid one of this authority gets another one for
/// the same name and the same key, which is in the authority's index before it is sent. It holds
/// the authority's key, so it is a process of its own, and never a federation's server. Its own
/// certificate is made when it starts, and again before it expires.
///
/// Listens from construction to destruction, on a thread of its own. The constructor throws Error
/// if the authority cannot sign or the address cannot be listened on. Nothing else throws.
class RenewalServer {
 public:
  /// What happens: event and detail, for a log. Called on its thread.
  using Tell = std::function<void(const std::string& client, const std::string& event,
                                  const std::string& detail)>;

  RenewalServer(const RenewalServerOptions& options, Tell tell);
  ~RenewalServer();
  RenewalServer(const RenewalServer&) = delete;
  RenewalServer& operator=(const RenewalServer&) = delete;

  /// HOST:PORT, with the port it got.
  std::string address() const;
  std::uint64_t renewed() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace polykern
