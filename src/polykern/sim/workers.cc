#include "polykern/sim/workers.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <system_error>

#include "polykern/core/error.h"

namespace polykern {

struct Workers::Job {
  Job(std::size_t count, const std::function<void(std::size_t, std::size_t)>& what)
      : tasks(count), task(what) {}

  std::size_t tasks;
  const std::function<void(std::size_t, std::size_t)>& task;
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::size_t failed_task = 0;
  std::exception_ptr failure = nullptr;

  void Work(std::size_t worker) {
    for (std::size_t i = next++; i < tasks; i = next++) {
      try {
        task(i, worker);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (failure == nullptr || i < failed_task) {
          failure = std::current_exception();
          failed_task = i;
        }
      }
    }
  }
};

Workers::Workers(std::size_t threads) {
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  try {
    for (std::size_t worker = 1; worker < threads; ++worker) {
      threads_.emplace_back([this, worker] { Loop(worker); });
    }
  } catch (const std::system_error&) {
    const std::size_t started = threads_.size() + 1;
    Stop();
    throw Error("the system allows only " + std::to_string(started) + " threads here; lower " +
                OptionName("threads"));
  }
}

Workers::~Workers() {
  Stop();
}

void Workers::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  threads_.clear();  // joins them, while what they wait on still lives
}

void Workers::Run(std::size_t tasks, const std::function<void(std::size_t, std::size_t)>& task) {
  Job job(tasks, task);
  if (threads_.empty() || tasks <= 1) {
    job.Work(0);
  } else {
    {
      const std::lock_guard lock(mutex_);
      job_ = &job;
      busy_ = threads_.size();
      ++generation_;
    }
    wake_.notify_all();
    job.Work(0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
    job_ = nullptr;
  }
  if (job.failure != nullptr) std::rethrow_exception(job.failure);
}

void Workers::Loop(std::size_t worker) {
  std::size_t seen = 0;
  for (;;) {
    Job* job = nullptr;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
      if (stop_) return;
      seen = generation_;
      job = job_;
    }
    job->Work(worker);
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) done_.notify_one();
  }
}

}  // namespace polykern
