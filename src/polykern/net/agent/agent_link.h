#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "polykern/net/agent/agent.h"

namespace polykern {

/// An agent's connection to its server: connects, and connects again, until destroyed, even if the
/// server will not have it: certificates are read again each time, and may be better then. A
/// refusal of one that has been renewed since does not count: it returns with the new one. Carries
/// bytes and knows nothing of what they mean. Any thread may call anything.
class AgentLink {
 public:
  /// What the owner wants after a connection has ended.
  struct NextAttempt {
    bool refused = false;  ///< the server refuses this agent, whichever side found it out
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
    /// A message arrived. False: the connection is not needed any longer.
    virtual bool Received(std::string_view bytes) = 0;
    /// The connection ended, or did not come about. `refused`: the server will not have us.
    virtual NextAttempt Lost(const std::string& why, bool refused) = 0;
  };

  virtual ~AgentLink() = default;

  /// Connects again at once, if it waits before it does.
  virtual void Retry() = 0;
  /// On the connection of now; dropped if there is none. What waits to be sent is replaced.
  virtual void Send(std::string bytes) = 0;
  /// Likewise, for what matters less: it goes when nothing else waits.
  virtual void SendLowPriority(std::string bytes) = 0;
};

/// Begins to connect, over a WebSocket with TLS. The handler must outlive the link. Throws Error if
/// certificates are missing, damaged or out of their time.
std::unique_ptr<AgentLink> OpenAgentLink(const LinkOptions& options, AgentLink::Handler& handler);

}  // namespace polykern
