#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace polykern {

struct LinkOptions {
  std::string server = "127.0.0.1:7433";  ///< HOST:PORT
  std::string certificates = {};  ///< folder with ca.crt, client.crt, client.key (`pki issue`)
  bool insecure = false;          ///< no certificates; the server must be insecure, too
  std::string name = {};          ///< insecure: who this is
  /// Between attempts: from the first to the last, doubling, each time multiplied by a random
  /// number between 1/2 and 1.
  std::chrono::milliseconds first_wait{100};
  std::chrono::milliseconds longest_wait{10'000};
  /// Instead, likewise at random, after a refusal: somebody must do something about it first.
  std::chrono::milliseconds refused_wait{60'000};
  std::chrono::milliseconds keepalive{10'000};  ///< a silent server is asked whether it is there
};

/// An agent's connection to its server: connects, and connects again, until destroyed, even if the
/// server will not have it: certificates are read again each time, and may be better then. A
/// refusal of one that has been renewed since does not count: it returns with the new one. Carries
/// bytes and knows nothing of what they mean. Any thread may call anything.
class AgentLink {
 public:
  /// What the owner wants after a connection has ended.
  struct NextAttempt {
    bool refused = false;  ///< the server will not have this agent, whoever found it out
    /// When the server wants to see it again, at random between the two; 0: it said nothing.
    std::chrono::milliseconds earliest{0};
    std::chrono::milliseconds latest{0};
  };

  /// What the owner does with a connection. Called from the link's threads, one call at a time.
  class Handler {
   public:
    virtual ~Handler() = default;
    /// The first message of a new connection.
    virtual std::string Greet() = 0;
    /// A message came. False: the connection is of no use.
    virtual bool Received(std::string_view bytes) = 0;
    /// The connection ended, or did not come about. `refused`: the server will not have us.
    virtual NextAttempt Lost(const std::string& why, bool refused) = 0;
  };

  virtual ~AgentLink() = default;

  /// On the connection of now; dropped if there is none. What waits to be sent is replaced.
  virtual void Send(std::string bytes) = 0;
  /// Likewise, for what matters less: it goes when nothing else waits.
  virtual void SendLowPriority(std::string bytes) = 0;
};

/// Begins to connect, over gRPC. The handler must outlive the link. Throws Error if certificates
/// are missing, damaged or out of their time.
std::unique_ptr<AgentLink> OpenAgentLink(const LinkOptions& options, AgentLink::Handler& handler);

}  // namespace polykern
