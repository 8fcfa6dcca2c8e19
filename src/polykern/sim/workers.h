#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace polykern {

/// A few threads that share out numbered tasks. Run may be called again and again; one caller at a
/// time. The caller's own thread is worker 0, so Workers(1) starts no thread at all.
class Workers {
 public:
  /// 0: as many as the machine has cores. Throws Error if the system does not allow as many.
  explicit Workers(std::size_t threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  std::size_t size() const { return threads_.size() + 1; }

  /// Calls task(i, worker) for i = 0 .. tasks-1, each once, and returns when all are done. If tasks
  /// throw, the exception of the lowest i is thrown here, after all have ended.
  void Run(std::size_t tasks, const std::function<void(std::size_t, std::size_t)>& task);

 private:
  struct Job;
  void Loop(std::size_t worker);
  void Stop();

  std::vector<std::jthread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  Job* job_ = nullptr;
  std::size_t generation_ = 0;
  std::size_t busy_ = 0;
  bool stop_ = false;
};

}  // namespace polykern
