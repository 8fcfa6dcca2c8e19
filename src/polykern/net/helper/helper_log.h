#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "polykern/net/helper/release.h"

namespace polykern {

/// A client and a kind of sums.
using ClientKind = std::pair<std::string, std::uint32_t>;

/// What a helper remembers. Of an epoch that is over it keeps only the keys.
struct HelperContents {
  std::string federation = {};  ///< the only one it works for; empty: it has not worked yet
  std::uint64_t epoch = 0;
  std::uint64_t releases = 0;  ///< answered or refused in this epoch: the next number
  bool behind = false;         ///< clients know of releases that it does not: a backup was put back
  std::uint64_t numbers = 0;   ///< of all these releases together
  std::uint64_t unknowns = 0;  ///< of all samples in them, each once
  NoiseTerms noise = {};       ///< what was promised with the first of them
  std::vector<std::uint64_t> streams = {};  ///< with noise: sums of those that were answered
  std::map<ClientKind, std::uint64_t> next_steps = {};  ///< 1 + the last step in one of them
  ReleaseDigest digest{};                               ///< of the newest one's request
  std::vector<std::uint64_t> answer = {};               ///< to it
  std::string refusal = {};                             ///< or why there is none
  std::map<std::string, std::string> keys = {};         ///< of clients, as Encode makes them

  bool operator==(const HelperContents&) const = default;
};

/// A release that is about to be answered, or refused for good.
struct LoggedRelease {
  const ReleaseRequest& request;
  ReleaseDigest digest;
  std::span<const std::uint64_t> answer = {};
  std::string refusal = {};                     ///< then there is nothing of what follows
  std::uint64_t unknowns = 0;                   ///< of samples in it that were in none before
  std::span<const std::uint64_t> streams = {};  ///< with noise: their sum, which no one is told
  std::map<std::string, std::uint64_t> next_steps = {};  ///< by client: 1 + its last step in it
};

/// A helper's memory. What a call has returned from survives kill -9 and power cuts, where the log
/// is durable; a call that did not return has happened as a whole or not at all.
///
/// One thread at a time. All calls throw Error when the log fails, and DiskFull (store.h) when only
/// room is missing: then nothing has changed.
class HelperLog {
 public:
  HelperLog() = default;
  virtual ~HelperLog() = default;
  HelperLog(const HelperLog&) = delete;
  HelperLog& operator=(const HelperLog&) = delete;

  /// Throws Error, too, if it is damaged.
  virtual HelperContents Contents() = 0;

  /// One of a newer epoch makes it forget the older one.
  virtual void WriteRelease(const LoggedRelease& release) = 0;
  /// It is behind what clients know of, in this epoch, and stays so until the next.
  virtual void WriteBehind(const std::string& federation, std::uint64_t epoch) = 0;
  /// Takes the place of the client's last one.
  virtual void WriteKeys(const std::map<std::string, std::string>& keys) = 0;
};

/// A file of SQLite, for its owner alone, with -wal and -lock beside it while in use; made if it is
/// missing. Durable; a second writer throws Error.
std::unique_ptr<HelperLog> OpenHelperLog(const std::string& path);

}  // namespace polykern
