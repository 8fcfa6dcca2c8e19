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

/// The disk is full: nothing was written, what was committed before is whole, and the same call
/// works when there is room again. A server that catches it stops accepting and tries later.
class DiskFull : public Error {
 public:
  using Error::Error;
};

/// Another process has locked the store, or front ends share it.
class StoreInUse : public Error {
 public:
  using Error::Error;
};

/// What a federation is: names and values. Once there is a client or a step it is changed by
/// StoreBatch::configuration alone.
using StoreConfiguration = std::map<std::string, std::string>;

/// Where a server resumes: the arguments of Coordinator::Load.
struct ResumePoint {
  std::uint64_t steps = 0;    ///< committed so far
  std::vector<double> state;  ///< Coordinator::Save after them
};

/// What is noted about a client beside what it sent.
struct ClientNote {
  std::string label = {};    ///< what its operator calls it
  bool forgotten = false;    ///< it left for good, as its operator says
  std::string serial = {};   ///< of the certificate that it last showed; empty: none yet
  std::int64_t expires = 0;  ///< the end of that certificate; 0: it has none

  bool operator==(const ClientNote&) const = default;
};

struct StoredClient {
  std::string name;
  std::int64_t first_seen = 0;  ///< seconds since 1970, as all times here
  std::int64_t last_seen = 0;   ///< when it was enrolled or last counted
  std::uint64_t accepted = 0;   ///< updates that counted
  std::uint64_t rejected = 0;
  std::uint64_t next_step = 0;  ///< after the last one it answered; 0: it answered none yet
  ClientNote note = {};
  // Of stores that front ends share, which know:
  bool connected = false;  ///< to one of them
  bool gone = false;       ///< it is not waited for
};

/// What is in a store.
struct StoreContents {
  std::int64_t version = 0;                ///< of its format
  StoreConfiguration configuration;        ///< in the words of the version that made the store
  std::optional<ResumePoint> newest = {};  ///< committed step; none before the first
  std::uint64_t participants = 0;          ///< of the newest step
  std::int64_t committed = 0;              ///< when
  std::vector<StoredClient> clients = {};  ///< by number
  std::uint64_t step_records = 0;
  std::uint64_t events = 0;
  std::uint64_t file_bytes = 0;  ///< that it takes, with what is beside it
};

struct NotedClient {
  std::uint64_t client = 0;  ///< its number
  ClientNote note;           ///< takes the place of the one before
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
  /// Committed with this one: more than before. Or as many as before: then the state takes the
  /// place of the newest one, and nothing else is given.
  std::uint64_t steps = 0;
  std::span<const double> state;              ///< Coordinator::Save after it
  std::span<const CountedUpdate> counted;     ///< those in it; of a client: later and later steps
  std::span<const Rejections> rejected = {};  ///< since the last commit
};

/// A line of the audit log.
struct StoredEvent {
  std::int64_t time = 0;
  std::string client;
  std::string event;
  std::string detail;
};

/// What a server writes in one transaction, in this order.
struct StoreBatch {
  /// New clients, none of them known; they get the next numbers: 0, 1, 2...
  std::span<const std::string> clients = {};
  /// Unless null: takes the place of the one before, before the first step or with a new epoch.
  const StoreConfiguration* configuration = nullptr;
  std::optional<StepCommit> step = {};
  std::span<const StoredEvent> events = {};
  std::span<const NotedClient> notes = {};
};

struct PruneOptions {
  std::optional<std::uint64_t> keep_steps = {};    ///< records of the last so many steps
  std::optional<std::uint64_t> keep_seconds = {};  ///< of steps and the audit log
};

struct Pruned {
  std::uint64_t steps = 0;
  std::uint64_t events = 0;
};

/// A server's memory (open_store.h opens one). What Write has returned from survives kill -9 and
/// power cuts, where the store is durable; a call that did not return has happened as a whole or
/// not at all. A store stays bounded: the newest two states, the last kKeptRecords steps and
/// events.
///
/// One thread at a time. All calls throw Error when the store fails, and DiskFull when only room is
/// missing.
class Store {
 public:
  static constexpr std::int64_t kKeptRecords = 1'000'000;

  Store() = default;
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// At one moment. Throws Error if the newest state is damaged.
  virtual StoreContents Contents() = 0;

  /// Throws Error if a state of so many numbers is more than a store can hold.
  virtual void CheckRoom(std::size_t numbers) const = 0;

  virtual void Write(const StoreBatch& batch) = 0;

  /// Takes over clients and the newest step of another store, in one transaction; its older steps
  /// and its events are not part of that. This one must be unused.
  virtual void Fill(const StoreContents& other) = 0;

  /// Forgets old steps and events, never the newest state. The room is used again; Compact gives it
  /// back to the disk, and takes time.
  virtual Pruned Prune(const PruneOptions& options) = 0;
  virtual void Compact() = 0;
};

/// A kind of store, as open_store.cc lists it. A place is what follows the scheme in a URL.
struct StoreKind {
  std::string_view scheme;  ///< without the colon
  /// Opens a store, or makes it. Throws Error that names each difference if it was made with
  /// another configuration, unless it is unused. A null configuration: opens a store that
  /// exists, whatever it is of.
  std::unique_ptr<Store> (*open)(const std::string& place, const StoreConfiguration* configuration);
  /// Without changing it, also while a server uses it.
  StoreContents (*read)(const std::string& place);
  /// False if there is none, or one in which nothing is yet: its server was stopped while it made
  /// it. Throws Error for one that cannot be read.
  bool (*exists)(const std::string& place);
  /// A copy of one moment in a new file, also while a server uses the store, and such a copy put
  /// back where none does; both return how many steps it has. Stores that know no copies throw
  /// Error that says what to do instead.
  std::uint64_t (*backup)(const std::string& place, const std::string& file);
  std::uint64_t (*restore)(const std::string& file, const std::string& place);
  /// Opens one that exists to write only notes of clients, also while front ends use it.
  std::unique_ptr<Store> (*open_to_note)(const std::string& place);
  bool is_file = false;     ///< a place is the path of a file
  bool has_fronts = false;  ///< several servers may share a store (front.h)
};

}  // namespace polykern
