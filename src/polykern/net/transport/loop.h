#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>
#include <unordered_map>
#include <utility>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace polykern {

/// A thread, and the connections that live on it: whatever happens to one of them happens on that
/// thread, so they need no locks. Any thread may construct, destroy and Post; the rest is for the
/// loop's own thread.
class Loop {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kBufferBytes = 16384;  // a record of TLS

  class Member {
   public:
    virtual ~Member() = default;
    /// Called from time to time, for whatever has taken too long.
    virtual void Tick(Clock::time_point now) = 0;
    /// The loop ends: so must it, at once.
    virtual void Drop() = 0;
  };

  explicit Loop(std::chrono::milliseconds tick = std::chrono::milliseconds(250));
  ~Loop() { Stop(); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Drops its members and ends its thread; not on that thread. Nothing runs afterwards.
  void Stop();

  boost::asio::io_context& io() { return io_; }
  /// Later, on the loop's thread.
  template <typename Function>
  void Post(Function function) {
    boost::asio::post(io_, std::move(function));
  }
  /// The same, but at once if this is the loop's thread.
  template <typename Function>
  void Run(Function function) {
    boost::asio::dispatch(io_, std::move(function));
  }

  void Add(std::shared_ptr<Member> member);
  void Remove(const Member& member) { members_.erase(&member); }

  /// For the connection that reads or writes right now.
  char* read_buffer() { return read_buffer_.data(); }
  char* write_buffer() { return write_buffer_.data(); }

 private:
  void WaitForTick();

  const std::chrono::milliseconds tick_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  boost::asio::steady_timer timer_{io_};
  std::unordered_map<const Member*, std::shared_ptr<Member>> members_;
  std::array<char, kBufferBytes> read_buffer_{};
  std::array<char, kBufferBytes> write_buffer_{};
  std::thread thread_;
};

}  // namespace polykern
