#include "polykern/net/rounds/step_writer.h"

#include <cassert>
#include <ctime>
#include <utility>

namespace polykern {
namespace {

constexpr std::chrono::seconds kWriteAgain{1};
constexpr std::size_t kManyEvents = 1000;  // worth a transaction of their own
constexpr std::size_t kMostEvents = 2 * kManyEvents;

void KeepTheNewest(std::vector<StoredEvent>& events) {
  if (events.size() < kMostEvents) return;
  events.erase(events.begin(), events.end() - kManyEvents);
}

}  // namespace

StoreBatch StepWriter::Work::Batch() const {
  StoreBatch batch{.clients = clients, .events = events, .notes = notes};
  if (configuration) batch.configuration = &*configuration;
  if (step && step->opened) {
    batch.step = StepCommit{step->steps, step->state, {}};
  } else if (step) {
    batch.step = StepCommit{step->steps, step->state, step->counted, step->rejected};
  }
  return batch;
}

StepWriter::~StepWriter() {
  if (failed_ || waiting_.events.empty()) return;
  try {
    store_.Write({.events = waiting_.events});
  } catch (const Error&) {  // the log's last lines; no one is left to tell
  }
}

void StepWriter::Enrol(const std::string& client) {
  const std::lock_guard lock(mutex_);
  waiting_.clients.push_back(client);
}

void StepWriter::End(EndedStep step) {
  const std::lock_guard lock(mutex_);
  assert(!waiting_.step);
  waiting_.step = std::move(step);
}

void StepWriter::Note(std::uint64_t client, const ClientNote& note) {
  const std::lock_guard lock(mutex_);
  waiting_.notes.push_back({client, note});
}

void StepWriter::Configure(StoreConfiguration configuration) {
  const std::lock_guard lock(mutex_);
  waiting_.configuration = std::move(configuration);
}

void StepWriter::Log(const std::string& client, const std::string& event,
                     const std::string& detail) {
  const std::lock_guard lock(mutex_);
  waiting_.events.push_back({std::time(nullptr), client, event, detail});
  KeepTheNewest(waiting_.events);
}

std::vector<StoredEvent> StepWriter::TakeEvents() {
  const std::lock_guard lock(mutex_);
  return std::exchange(waiting_.events, {});
}

bool StepWriter::Due(RoundsTime now) const {
  const std::lock_guard lock(mutex_);
  if (failed_ || now < try_again_) return false;
  return waiting_.step || waiting_.configuration || !waiting_.clients.empty() ||
         !waiting_.notes.empty() || waiting_.events.size() >= kManyEvents;
}

WriteResult StepWriter::Write(RoundsTime now) {
  Work work;
  {
    const std::lock_guard lock(mutex_);
    work = std::exchange(waiting_, {});
  }
  WriteResult result;
  try {
    store_.Write(work.Batch());
    result.clients = work.clients.size();
    result.step = std::move(work.step);
    result.configuration = std::move(work.configuration);
  } catch (const DiskFull& full) {
    result.trouble = full.what();
    const std::lock_guard lock(mutex_);
    try_again_ = now + kWriteAgain;
    PutBack(std::move(work));
  } catch (const Error& error) {
    result.failure = error;
    const std::lock_guard lock(mutex_);
    failed_ = true;
  }
  return result;
}

/// Before what came meanwhile: clients are numbered in the order they came.
void StepWriter::PutBack(Work work) {
  for (std::string& client : waiting_.clients) work.clients.push_back(std::move(client));
  for (StoredEvent& event : waiting_.events) work.events.push_back(std::move(event));
  for (NotedClient& noted : waiting_.notes) work.notes.push_back(std::move(noted));
  if (waiting_.step) work.step = std::move(waiting_.step);
  if (waiting_.configuration) work.configuration = std::move(waiting_.configuration);
  waiting_ = std::move(work);
  KeepTheNewest(waiting_.events);
}

}  // namespace polykern
