#pragma once

#include <mutex>

#include "polykern/net/server/rounds.h"

namespace polykern {

/// Holds the mutex; wakes, without it, who has something to take or to write.
class Rounds::Locked {
 public:
  explicit Locked(Rounds& rounds) : rounds_(rounds), lock_(rounds.mutex_) {}
  ~Locked() { Release(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

  void Release() {
    const auto woken = rounds_.links_.TakeWoken();
    const bool work = rounds_.has_work_ && !rounds_.committing_;
    lock_.unlock();
    if (work) rounds_.work_changed_.notify_one();
    for (const auto& peer : woken) peer->Wake();
  }
  void Reacquire() { lock_.lock(); }

 private:
  Rounds& rounds_;
  std::unique_lock<std::mutex> lock_;
};

}  // namespace polykern
