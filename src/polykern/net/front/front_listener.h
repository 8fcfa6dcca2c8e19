#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

namespace polykern {

class Connection;

/// Hears what others say to the front ends of a federation in PostgreSQL, on a connection and a
/// thread of its own, from construction to destruction. A database that is away is tried again, and
/// counts as news: callers that ask it for them are told why. Any thread may call anything.
class FrontListener {
 public:
  /// `place` is what follows postgresql: in the store's URL, `front` whose news they are.
  FrontListener(std::string place, std::uint64_t front);

  bool HasNews() const { return news_; }
  void Heard() { news_ = false; }
  /// See Front::OnNews.
  void OnNews(std::function<void()> wake);

 private:
  void Run(const std::stop_token& stop);
  void Listen(Connection& connection, const std::stop_token& stop);
  void Tell();

  const std::string place_;
  const std::string front_;
  std::atomic<bool> news_{true};
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::function<void()> wake_;
  std::jthread thread_;  // last: ends first
};

}  // namespace polykern
