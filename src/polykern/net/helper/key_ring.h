#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "polykern/net/helper/helper_ledger.h"
#include "polykern/net/helper/helper_log.h"
#include "polykern/net/pki/admission.h"
#include "polykern/net/pki/signed_mask_key.h"

namespace polykern {

/// The mask keys of a helper's clients: each proven when it comes, and judged again when the
/// revocation list or the time says so. They are kept in the log, so that a client that has gone
/// need not come back for a sum that it is in.
///
/// One thread at a time. `door` and `log` must outlive it.
class KeyRing final : public ClientKeys {
 public:
  /// `door` is null where there are no certificates: then everyone is who they say. Throws Error
  /// if the log cannot be read.
  /// `clock`: seconds since 1970; it may jump.
  KeyRing(
      std::set<std::string> clients, Admission* door, HelperLog& log,
      std::function<std::int64_t()> clock = [] { return std::time(nullptr); });

  /// Keys that came from the server, or none: before each release. Those of others than the clients
  /// are left out; one that is not good does not take the place of one that is. Throws Error if the
  /// log fails, but not for lack of room: then they are written the next time.
  void Take(const std::map<std::string, SignedMaskKey>& keys);

  Found Find(const std::string& client) override;

 private:
  struct Entry {
    SignedMaskKey key = {};
    std::string reason = {};  // why it is not good; empty: it is
    std::int64_t judged = 0;  // when
    std::int64_t valid_until = 0;
    std::uint64_t list = 0;  // of revocations, that was in force
  };

  Entry Prove(const std::string& client, const SignedMaskKey& key);
  bool IsStale(const Entry& entry, std::int64_t now) const;

  const std::set<std::string> clients_;
  Admission* const door_;
  HelperLog& log_;
  const std::function<std::int64_t()> clock_;
  std::uint64_t list_ = 0;  // grows with each list of revocations
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> unwritten_;
};

}  // namespace polykern
