#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "polykern/net/rounds/rounds.h"

namespace polykern {

struct ServerOptions {
  std::string listen = "127.0.0.1:7433";  ///< HOST:PORT; port 0: one that is free
  std::string certificates = "pki";       ///< the authority's folder (authority.h); needs no ca.key
  std::string keys = {};                  ///< folder of server.key; empty: the same
  /// No encryption, and clients are believed to be who they say: for trials on one machine. Refuses
  /// to listen anywhere but on the loopback.
  bool insecure = false;
  bool insecure_anywhere = false;         ///< does not refuse
  std::size_t most_connections = 20'000;  ///< with those that have not said hello
  std::size_t most_of_one = 8;            ///< of one client; one of them takes part: the newest
  /// Connections that are being opened: before TLS and HTTP have identified the client.
  std::size_t most_handshakes = 4'096;
  std::size_t most_handshakes_of_address = 256;
  std::chrono::milliseconds hello_time{10'000};  ///< a connection must say hello by then
  std::chrono::milliseconds keepalive{10'000};   ///< a silent peer is asked whether it is there
};

/// Connections and bytes since the start.
struct ServerTraffic {
  std::uint64_t bytes_in = 0;  ///< of the messages, without what TLS and WebSockets add
  std::uint64_t bytes_out = 0;
  std::uint64_t unopened = 0;  ///< connections that ended before they were open
  std::uint64_t made_way = 0;  ///< of these for newer ones: too many were being opened
  std::uint64_t crowded = 0;   ///< that were turned away: no room, or too many of one client
};

/// Throws Error unless the address has a port, and is of the loopback if it must be. Changes
/// nothing.
void CheckListen(const ServerOptions& options);

/// How many clients there are file descriptors for.
std::size_t MostConnectedHere();

/// A federation's front door: WebSockets over mutual TLS in front of Rounds. Listens from
/// construction to destruction, on threads of its own; revoked clients are disconnected
/// without a restart.
///
/// The constructor throws Error if certificates cannot be used or the address cannot be listened
/// on. Nothing else throws. `rounds` must outlive it.
class FederationServer {
 public:
  FederationServer(const ServerOptions& options, const ModelShape& shape, Rounds& rounds);
  ~FederationServer();
  FederationServer(const FederationServer&) = delete;
  FederationServer& operator=(const FederationServer&) = delete;

  /// HOST:PORT, with the port it got.
  std::string address() const;
  /// What is wrong: the newest revocation list is not in force, or no client can be let in because
  /// there are no descriptors left. Empty: nothing.
  std::string trouble() const;
  ServerTraffic traffic() const;
  /// The end of the server's own certificate, in seconds since 1970; none: it has none.
  std::optional<std::int64_t> expires() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace polykern
