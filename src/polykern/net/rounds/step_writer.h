#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "polykern/core/error.h"
#include "polykern/net/rounds/rounds_options.h"
#include "polykern/net/store/store.h"

namespace polykern {

/// A step that has ended.
struct EndedStep {
  std::uint64_t steps = 0;    ///< with this one
  std::vector<double> state;  ///< Coordinator::Save after it
  std::vector<CountedUpdate> counted;
  std::vector<Rejections> rejected;
  RoundsTime first_answer{};
  bool opened = false;  ///< it was written before its sums were opened: only the state is new
};

/// What StepWriter::Write has written.
struct WriteResult {
  std::size_t clients = 0;
  std::optional<EndedStep> step = {};
  std::optional<StoreConfiguration> configuration = {};
  std::string trouble = {};           ///< why it wrote nothing, and will try again
  std::optional<Error> failure = {};  ///< why it will never write anything again
};

/// What waits to be written to a store: new clients, the step that has ended, another
/// configuration, lines of the audit log. One transaction, one wait for the disk, takes them all.
///
/// Any thread may add work, also while another one writes, and never waits for the disk. One thread
/// at a time may write. Nothing here throws.
class StepWriter {
 public:
  /// The store must outlive it; nothing else may use it meanwhile.
  explicit StepWriter(Store& store) : store_(store) {}
  /// Writes the log that waits, if it can.
  ~StepWriter();
  StepWriter(const StepWriter&) = delete;
  StepWriter& operator=(const StepWriter&) = delete;

  /// It gets the next number.
  void Enrol(const std::string& client);
  /// No other step may be waiting.
  void End(EndedStep step);
  /// It takes the place of what was noted of this client.
  void Note(std::uint64_t client, const ClientNote& note);
  /// It takes the place of the store's.
  void Configure(StoreConfiguration configuration);
  /// Lines wait for other work, or until there are many: a crash may take the last ones. While
  /// nothing can be written only the newest are kept.
  void Log(const std::string& client, const std::string& event, const std::string& detail);

  /// For callers that write them elsewhere.
  std::vector<StoredEvent> TakeEvents();

  /// Has Write something to do at this time? After it found no room, not for a second.
  bool Due(RoundsTime now) const;
  /// Writes everything that waits, and waits for the disk.
  WriteResult Write(RoundsTime now);

 private:
  struct Work {
    std::vector<std::string> clients;
    std::optional<EndedStep> step;
    std::optional<StoreConfiguration> configuration;
    std::vector<StoredEvent> events;
    std::vector<NotedClient> notes;  // the last of a client counts

    /// As long as nothing of it changes.
    StoreBatch Batch() const;
  };
  void PutBack(Work work);

  Store& store_;
  mutable std::mutex mutex_;  // for all that follows
  Work waiting_;
  RoundsTime try_again_ = RoundsTime::min();
  bool failed_ = false;
};

}  // namespace polykern
