#include "polykern/net/store/memory_store.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <ctime>
#include <deque>
#include <memory>
#include <utility>

#include "polykern/core/error.h"

namespace polykern {
namespace {

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(StoreConfiguration configuration)
      : configuration_(std::move(configuration)) {}

  StoreContents Contents() override {
    StoreContents contents{.version = 1, .configuration = configuration_, .newest = newest_};
    if (!steps_.empty()) {
      contents.participants = steps_.back().participants;
      contents.committed = steps_.back().time;
    }
    contents.clients = clients_;
    contents.step_records = steps_.size();
    contents.events = events_.size();
    return contents;
  }

  void CheckRoom(std::size_t) const override {}

  void Write(const StoreBatch& batch) override {
    const std::int64_t now = std::time(nullptr);
    for (const std::string& name : batch.clients) {
      assert(std::ranges::count(clients_, name, &StoredClient::name) == 0);
      clients_.push_back({.name = name, .first_seen = now, .last_seen = now});
    }
    if (batch.configuration != nullptr) configuration_ = *batch.configuration;
    if (batch.step) WriteStep(*batch.step, now);
    for (const NotedClient& noted : batch.notes) clients_.at(noted.client).note = noted.note;
    for (const StoredEvent& event : batch.events) events_.push_back(event.time);
    while (events_.size() > kKeptRecords) events_.pop_front();
  }

  void Fill(const StoreContents& other) override {
    assert(clients_.empty() && !newest_);
    clients_ = other.clients;
    newest_ = other.newest;
    if (newest_) steps_.push_back({newest_->steps, other.participants, other.committed});
  }

  Pruned Prune(const PruneOptions& options) override {
    Pruned pruned;
    const auto forget = [](auto& records, std::uint64_t& count, const auto& old) {
      count += static_cast<std::uint64_t>(std::erase_if(records, old));
    };
    const std::uint64_t last = newest_ ? newest_->steps : 0;
    if (options.keep_steps) {
      const std::uint64_t before = last - std::min(*options.keep_steps, last);
      forget(steps_, pruned.steps,
             [&](const Step& step) { return step.steps <= before && step.steps != last; });
    }
    if (options.keep_seconds) {
      const std::int64_t now = std::time(nullptr);
      const auto age = std::min(*options.keep_seconds, static_cast<std::uint64_t>(now));
      const std::int64_t oldest = now - static_cast<std::int64_t>(age);
      forget(steps_, pruned.steps,
             [&](const Step& step) { return step.time < oldest && step.steps != last; });
      forget(events_, pruned.events, [&](std::int64_t time) { return time < oldest; });
    }
    return pruned;
  }

  void Compact() override {}

 private:
  struct Step {
    std::uint64_t steps = 0;
    std::uint64_t participants = 0;
    std::int64_t time = 0;
  };

  void WriteStep(const StepCommit& step, std::int64_t now) {
    assert(!newest_ || step.steps >= newest_->steps);
    if (!newest_ || step.steps > newest_->steps) {
      steps_.push_back({step.steps, step.counted.size(), now});
    }
    newest_ = ResumePoint{step.steps, {step.state.begin(), step.state.end()}};
    if (steps_.size() > kKeptRecords) steps_.pop_front();
    for (const CountedUpdate& update : step.counted) {
      assert(update.step < step.steps);
      StoredClient& client = clients_.at(update.client);
      ++client.accepted;
      client.last_seen = now;
      client.next_step = update.step + 1;
    }
    for (const Rejections& rejected : step.rejected) {
      clients_.at(rejected.client).rejected += rejected.count;
    }
  }

  StoreConfiguration configuration_;
  std::optional<ResumePoint> newest_;
  std::vector<StoredClient> clients_;
  std::deque<Step> steps_;
  std::deque<std::int64_t> events_;  // their times: the rest is never read
};

void CheckNoPlace(const std::string& place) {
  if (place.empty()) return;
  throw Error("memory:" + place + ": a store in memory has no place; write memory:");
}

/// Each is empty when it is opened, so none was there before.
Error NoStore() {
  return Error("memory: there is no store here; one in memory ends with its server; name a file");
}

std::unique_ptr<Store> OpenMemory(const std::string& place,
                                  const StoreConfiguration* configuration) {
  CheckNoPlace(place);
  if (configuration == nullptr) throw NoStore();
  return std::make_unique<MemoryStore>(*configuration);
}

bool HasMemoryStore(const std::string& place) {
  CheckNoPlace(place);
  return false;
}

}  // namespace

StoreKind MemoryStoreKind() {
  return {
      .scheme = "memory",
      .open = OpenMemory,
      .read = [](const std::string&) -> StoreContents { throw NoStore(); },
      .exists = HasMemoryStore,
      .backup = [](const std::string&, const std::string&) -> std::uint64_t { throw NoStore(); },
      .restore = [](const std::string&, const std::string&) -> std::uint64_t { throw NoStore(); },
      .open_to_note = [](const std::string& place) { return OpenMemory(place, nullptr); }};
}

}  // namespace polykern
