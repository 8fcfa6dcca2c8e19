#pragma once

#include <cstddef>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace polykern {

class ServerCall;

/// Connections that are being opened: TLS and HTTP have not yet said who it is. They are bounded in
/// number, in all and by address, and the oldest makes way for the newest: an honest client is
/// done at once. Any thread may call anything.
class Openings {
 public:
  Openings(std::size_t most, std::size_t most_of_address)
      : most_(most), most_of_address_(most_of_address) {}

  /// The one that has to make way, and is taken out; null: none.
  std::shared_ptr<ServerCall> Add(const std::string& address,
                                  const std::shared_ptr<ServerCall>& call);
  /// Null if there is none.
  std::shared_ptr<ServerCall> TakeOldest();
  /// Where it came from; empty: it was not there.
  std::string Remove(const ServerCall& call);
  std::size_t size() const;

 private:
  struct Opening {
    std::string address;
    std::shared_ptr<ServerCall> call;
  };

  std::string RemoveLocked(const ServerCall& call);

  const std::size_t most_;
  const std::size_t most_of_address_;
  mutable std::mutex mutex_;     // for all that follows
  std::list<Opening> openings_;  // the oldest first
  std::unordered_map<const ServerCall*, std::list<Opening>::iterator> places_;
  std::unordered_map<std::string, std::deque<std::shared_ptr<ServerCall>>> of_address_;
};

}  // namespace polykern
