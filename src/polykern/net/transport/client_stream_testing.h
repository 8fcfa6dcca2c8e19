#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "polykern/net/transport/client_stream.h"

namespace polykern {

/// Writes down what comes, and how it ends.
class Notebook final : public ClientStream::Handler {
 public:
  bool Received(std::string_view bytes) override {
    const std::lock_guard lock(mutex_);
    messages_.emplace_back(bytes);
    return bytes != "enough";
  }
  void Ended(const Ending& ending) override {
    const std::lock_guard lock(mutex_);
    ending_ = ending;
    changed_.notify_all();
  }

  Ending WaitForEnd() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::minutes(1), [this] { return ending_.has_value(); })) {
      return {Ending::Kind::kSilent, "it did not end"};
    }
    return *ending_;
  }
  std::vector<std::string> messages() {
    const std::lock_guard lock(mutex_);
    return messages_;
  }

 private:
  std::mutex mutex_;  // for all that follows
  std::condition_variable changed_;
  std::vector<std::string> messages_;
  std::optional<Ending> ending_;
};

}  // namespace polykern
