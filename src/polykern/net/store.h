#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polykern/core/error.h"

namespace polykern {

/// There is no room: nothing was written, what was committed before is whole, and the same call
/// works when there is room again. A server that catches it stops accepting and tries later.
class DiskFull : public Error {
 public:
  using Error::Error;
};

/// What a federation is: names and values. Never changed once there is a client or a step.
using StoreConfiguration = std::map<std::string, std::string>;

/// Where a server goes on: the arguments of Coordinator::Load.
struct ResumePoint {
  std::uint64_t steps = 0;    ///< committed so far
  std::vector<double> state;  ///< Coordinator::Save after them
};

struct StoredClient {
  std::string name;
  std::int64_t first_seen = 0;  ///< seconds since 1970, as all times here
  std::int64_t last_seen = 0;   ///< when it was enrolled or last counted
  std::uint64_t accepted = 0;   ///< updates that counted
  std::uint64_t rejected = 0;
  std::uint64_t answered = 0;  ///< 1 + the last step it answered; 0: none yet
};

struct Rejections {
  std::uint64_t client = 0;  ///< its number
  std::uint64_t count = 0;
};

/// An update that counts.
struct CountedUpdate {
  std::uint64_t client = 0;  ///< its number
  std::uint64_t step = 0;    ///< that it answers
};

struct StepCommit {
  std::uint64_t steps = 0;                    ///< committed with this one: more than before
  std::span<const double> state;              ///< Coordinator::Save after it
  std::span<const CountedUpdate> counted;     ///< those in it; of a client: later and later steps
  std::span<const Rejections> rejected = {};  ///< since the last commit
};

struct PruneOptions {
  std::optional<std::uint64_t> keep_steps = {};    ///< records of the last so many steps
  std::optional<std::uint64_t> keep_seconds = {};  ///< of steps and the audit log
};

struct Pruned {
  std::uint64_t steps = 0;
  std::uint64_t events = 0;
};

/// A server's memory in one SQLite file (with -wal and -lock beside it while in use). What Commit
/// and Enrol have returned from survives kill -9 and power cuts; a call that did not return has
/// happened as a whole or not at all. The store stays bounded: the newest two states, the last
/// million steps and the last million events are kept.
///
/// One thread at a time, and one Store per file: a second one throws Error. Files that are no
/// store, damaged, or of a newer version throw Error before anything is written.
class Store {
 public:
  /// Opens the store, or makes it. Throws Error that names each difference if it was made with
  /// another configuration, unless nobody has used it yet.
  Store(const std::string& path, const StoreConfiguration& configuration);
  /// Opens a store that exists, whatever its configuration.
  explicit Store(const std::string& path);
  /// Writes the log that waits, if it can.
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// As it was made, in the words of the version that made it.
  StoreConfiguration configuration();

  /// Throws Error if a state of so many numbers is more than a store can hold.
  void CheckRoom(std::size_t numbers) const;

  /// The newest committed step; none before the first.
  std::optional<ResumePoint> Resume();

  /// The client's number: 0, 1, 2... in the order of enrolment. Known names keep theirs.
  std::uint64_t Enrol(const std::string& name);
  /// By number.
  std::vector<StoredClient> clients();

  /// Ends a step in one transaction, with the log that waits.
  void Commit(const StepCommit& step);

  /// A line of the audit log. It waits in memory for the next Commit, Enrol or Flush, or until
  /// there are a thousand: a crash may take the last ones, and a full disk keeps only those.
  void Log(std::string_view client, std::string_view event, std::string_view detail);
  void Flush();

  /// Forgets old steps and events, never the newest state. The room is used again; Compact gives it
  /// back to the disk, and takes time.
  Pruned Prune(const PruneOptions& options);
  void Compact();

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

/// What is in a store, without changing it, also while a server uses it.
struct StoreContents {
  std::int64_t version = 0;
  StoreConfiguration configuration;
  std::optional<ResumePoint> newest;
  std::uint64_t participants = 0;  ///< of the newest step
  std::int64_t committed = 0;      ///< when
  std::vector<StoredClient> clients;
  std::uint64_t step_records = 0;
  std::uint64_t events = 0;
  std::uint64_t file_bytes = 0;  ///< with the write-ahead log
};
StoreContents ReadStore(const std::string& path);

/// False if there is no file, or one in which nothing is yet: its server was stopped while it made
/// it. Throws Error for a file that cannot be read.
bool HasStore(const std::string& path);

/// store.db in a folder; a file is itself.
std::string StorePath(const std::string& folder_or_file);

}  // namespace polykern
